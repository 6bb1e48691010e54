"""Between a legacy optimizer and the modern stack: values, masks, states and TrainState."""
