"""`make lite`: JupyterLab with the course's notebooks as static files; Python runs in the browser."""
