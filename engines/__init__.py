"""Engines: trained models that generate and score texts with numpy and onnxruntime, without torch and transformers."""
