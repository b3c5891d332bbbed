# The image that `make image` makes without Docker, for those who have it:
#
#   docker build --build-arg VERSION=v1.2.3 --build-arg COMMIT=$(git rev-parse --short HEAD) -t gammaguard-webhook:v1.2.3 .
FROM golang:1.26.8@sha256:3c3e25a4da13fd0478eed2df1eb35a0e667094a7124d3993a6a1d30f71c17e79 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
ARG COMMIT=
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false \
	-ldflags "-s -w -X github.com/gammaguard/gammaguard/version.release=${VERSION} -X github.com/gammaguard/gammaguard/version.commit=${COMMIT}" \
	-o /gammaguard-webhook ./cmd/gammaguard-webhook

FROM scratch
ARG VERSION=
ARG COMMIT=
LABEL org.opencontainers.image.title=gammaguard-webhook \
	org.opencontainers.image.version=${VERSION} \
	org.opencontainers.image.revision=${COMMIT}
COPY --from=build /gammaguard-webhook /gammaguard-webhook
USER 65532:65532
ENTRYPOINT ["/gammaguard-webhook"]
