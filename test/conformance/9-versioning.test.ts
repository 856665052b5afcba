import { describe, expect, test } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { messagesRoute } from "./requests.ts";
import { useWorld } from "./world.ts";

const world = useWorld();

describe("9. Versioning", () => {
  test("9 the machine-readable description of the interface is version 1.0.0, at /openapi.json", async () => {
    const response = await world.sluice.request("/openapi.json");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith("application/json");
    const document = (await response.json()) as { openapi: string; info: { version: string }; paths: object };
    expect(document.openapi).toStartWith("3.1");
    expect(document.info.version).toBe("1.0.0");
    expect(Object.keys(document.paths)).toHaveLength(7);
    expect((await new Validator().validate(document)).valid).toBe(true);
  });

  test("9 all routes live under /v1, and token-budget keys add /token before it", async () => {
    expect((await world.sluice.request("/models")).status).toBe(404);
    expect((await world.sluice.request("/v1/token/models")).status).toBe(404);
    expect((await world.sluice.request("/token/models")).status).toBe(404);
    expect((await world.sluice.request("/token/token/v1/models")).status).toBe(404);
    expect((await world.sluice.request("/token/v1/models")).status).toBe(200);
  });

  test("9 Format B routes accept an optional compat-version, of any value", async () => {
    for (const version of ["2023-06-01", "2026-10-21", "some-day"]) {
      const headers = { "compat-version": version };
      const response = await world.sluice.request(messagesRoute.path, {
        key: world.token,
        body: messagesRoute.body,
        headers,
      });
      expect(response.status).toBe(200);
      expect(world.provider.requests.at(-1)?.headers["anthropic-version"]).toBe(version);
    }
  });
});
