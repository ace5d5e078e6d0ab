"""The four models, and the layers, the loss and the trees that they are made of."""
