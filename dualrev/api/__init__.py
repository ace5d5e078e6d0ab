"""What users call: gradients, Jacobians, Hessians, vmap, checkpoint, and checks of derivatives."""
