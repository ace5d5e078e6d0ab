"""The four models that Lantern (Wang et al. 2019, section 5) was measured by, trained by dualrev; docs/lantern.md.

    treelstm      trees.py, reviews.py (data), nodes.py, treelstm.py
    squeezenet    images.py (data), layers.py, squeezenet.py
    resnet50      images.py, layers.py, resnet.py
    deepspeech2   speech.py (data), ctc.py, layers.py, deepspeech.py

training.py has what they share: the loop, the optimiser, checkpoints and the picture of the curve.
"""
