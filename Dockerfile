# A tag can be moved to another image, so a release names the base image by its digest (CONTRIBUTING.md, Dependencies).
ARG NODE_IMAGE=node:24-slim

# This stage contains the compiler. The second stage is the image that runs, without it.
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY nest-cli.json tsconfig.json tsconfig.build.json vite.config.ts ./
COPY src/ src/
COPY web/ web/
RUN npm run build
COPY scripts/prepare.mjs scripts/shipped.mjs scripts/sbom.mjs scripts/
RUN node scripts/sbom.mjs sbom.cdx.json

FROM ${NODE_IMAGE}
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
COPY package.json package-lock.json .npmrc ./
# The optional packages are Node and PostgreSQL for development. The base image has Node, and DATABASE_URL names the database.
RUN npm ci --omit=dev --omit=optional && npm cache clean --force
COPY migrations/ migrations/
COPY --from=build /app/dist/ dist/
COPY --from=build /app/web/dist/ web/dist/
# The bill of materials: the packages installed above, and those bundled into the pages.
COPY --from=build /app/sbom.cdx.json ./
RUN chmod 755 dist/cli.js && ln -s /app/dist/cli.js /usr/local/bin/mooring
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health/live').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--enable-source-maps", "--max-semi-space-size=8", "--max-old-space-size=512", "dist/main.js"]
