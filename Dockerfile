# comity in a container:
#   docker build -t comity . && docker run -v "$PWD/out:/out" comity crawl https://example.com/ -o /out/crawl
FROM python:3.13-slim AS build
WORKDIR /src
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY . .
RUN pip wheel --no-cache-dir --wheel-dir /wheels ./packages/robots ./packages/pages '.[speed,postgresql,metrics,identity]'

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index /wheels/*.whl \
    && useradd --uid 1000 comity \
    && install -d -o comity /out
USER 1000
WORKDIR /out
VOLUME /out
# SIGTERM, which `docker stop` sends, ends a crawl as Ctrl-C does: what is under way is written, the rest can be resumed.
STOPSIGNAL SIGTERM
ENTRYPOINT ["comity"]
CMD ["--help"]
