# A tag can be moved to another image, so a release names the base image by its digest (CONTRIBUTING.md, Dependencies).
ARG NODE_IMAGE=node:24-slim

# This stage contains the compiler. It makes the archive that is installed in production, with and without Docker.
FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY nest-cli.json tsconfig.json tsconfig.build.json vite.config.ts .env.example CHANGELOG.md README.md SECURITY.md ./
COPY src/ src/
COPY web/ web/
COPY migrations/ migrations/
COPY docs/ docs/
COPY deploy/ deploy/
COPY scripts/prepare.mjs scripts/shipped.mjs scripts/sbom.mjs scripts/package.mjs scripts/package-files.mjs scripts/bundle.mjs scripts/ustar.mjs scripts/
RUN npm run package && mkdir app && tar -xzf mooring-*.tar.gz --strip-components=1 -C app

FROM ${NODE_IMAGE}
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
COPY --from=build /build/app/ ./
# Without SMTP_URL, mails are written to the folder data. The user of the service can change nothing else below /app.
RUN ln -s /app/dist/cli.js /usr/local/bin/mooring && install -d -m 700 -o node -g node data
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health/live').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=8", "--max-old-space-size=512", "dist/main.js"]
