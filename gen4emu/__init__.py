"""An exact software model of the Intel Gen4 GPU family (965/G35, 965GM, GM45, G45/G41)."""

__version__ = "0.1.0"
