"""What the author of a tool sees: `@tool`, `expose`, schemas, inputs, content, errors; and what a tool comes to."""
