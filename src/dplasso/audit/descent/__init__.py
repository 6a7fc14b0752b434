"""Fits by gradient descent: released sums over the rows, with Gaussian noise on a grid."""
