"""The library for authors of tools: `@tool`, `expose`, schemas, inputs, content, results and errors."""
