"""What every frontend is made of: its clients' connections, the table of its methods, and the methods below `_sould/`.

Start at `connection.ClientConnection`.
"""
