"""Between a legacy optimizer and the modern stack: hyper-parameters, masks, states and TrainState."""
