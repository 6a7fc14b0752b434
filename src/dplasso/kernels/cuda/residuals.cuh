// Residuals of the losses with one margin per row (dplasso/losses) and of classes
// (kernels/softmax.py). The numbers of the losses are those of kernels/residuals.py.

#define LOGISTIC 0
#define SQUARED 1
#define HINGE 2

DEVICE double residual_of(int loss, double shape, double margin, double label) {
    if (loss == LOGISTIC) return sigmoid(margin) - label;
    if (loss == SQUARED) {
        double residual = margin - label;
        residual = residual < -shape ? -shape : residual;
        return residual > shape ? shape : residual;
    }
    const double side = 2.0 * label - 1.0;
    return -side * smaller(larger((1.0 - side * margin) / shape, 0.0), 1.0);
}

// The residual in units of ``clip``.
DEVICE double clipped_residual(double residual, double clip) {
    residual = residual < -clip ? -clip : residual;
    return (residual > clip ? clip : residual) / clip;
}

// Residuals of all classes in one row. Margins and residuals are ``apart`` places from each other,
// and may be in the same places. Sums run in the order of the classes.
DEVICE void softmax_residuals(const double* margins, i64 apart, i64 classes, double label,
                              double scale, double* out, i64 out_apart) {
    double top = margins[0];
    for (i64 k = 1; k < classes; k++) top = larger(top, margins[k * apart]);
    double total = 0.0;
    for (i64 k = 0; k < classes; k++) {
        const double weight = exponential(larger((margins[k * apart] - top) * scale, -700.0));
        out[k * out_apart] = weight;
        total += weight;
    }
    for (i64 k = 0; k < classes; k++)
        out[k * out_apart] = out[k * out_apart] / total - (label == (double)k ? 1.0 : 0.0);
}

// Replaces the margins of one row by its residuals in units of ``clip``, with a 2-norm of at most 1.
DEVICE void clipped_residuals(double* margins, i64 apart, i64 classes, double label, double clip) {
    softmax_residuals(margins, apart, classes, label, 1.0, margins, apart);
    double square = 0.0;
    for (i64 k = 0; k < classes; k++) square += margins[k * apart] * margins[k * apart];
    const double scale = 1.0 / larger(clip, sqrt(square)) * (1.0 - 1e-12);
    for (i64 k = 0; k < classes; k++) margins[k * apart] *= scale;
}
