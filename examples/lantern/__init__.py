"""The four models of Lantern's evaluation (Wang et al. 2019, section 5), trained by dualrev. See docs/lantern.md.

    model         data                   layers and model
    treelstm      trees.py, reviews.py   nodes.py, treelstm.py
    squeezenet    images.py              layers.py, squeezenet.py
    resnet50      images.py              layers.py, resnet.py; imported.py reads both from ONNX files
    deepspeech2   speech.py              ctc.py, layers.py, deepspeech.py

training.py has the training loop, the optimiser, checkpoints and the picture of the loss.
"""
