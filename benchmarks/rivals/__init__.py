"""Private logistic regression by other means, to compare with. Not part of the product.

Every rival gets the same training rows, test rows and delta as the product, protects a row in the
same sense (one row more or less; where one does not, its file says so) and has noise as small as is
known to suffice. Its noise is of floating point and seeded: good for measuring, not for releasing.
"""
