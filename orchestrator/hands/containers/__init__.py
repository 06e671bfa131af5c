"""The container backend: podman and docker, their command lines, and process 1 of each container."""
