import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/base/errors.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { clientDialect } from "../../../src/dialects/registry.ts";
import { type BodyDialectName, bodyDialectNames } from "../../support/body-dialects.ts";
import { besides, refusalOf, traceless, translated, valuesOf } from "./examples.ts";
import { blockTypes, itemTypes, type WholeDecision } from "./sdk-types.ts";

describe.each(bodyDialectNames)("every field of %s", (client) => {
  const others = bodyDialectNames.filter((name) => name !== client);

  for (const [field, decision] of Object.entries(clientDialect(client).requestFields)) {
    const key = `${client} ${field}`;
    const beside = valuesOf(client, besides[key] ?? []);
    const example = { ...beside, ...valuesOf(client, [field]) };

    if (typeof decision === "object") {
      test(`${field} is refused by name`, () => {
        for (const toward of others) {
          const error = refusalOf(client, toward, example);
          expect(error).toMatchObject({ code: "invalid_request", param: field });
          expect(error).toHaveProperty("vendor", decision.vendor);
          for (const value of decision.except ?? []) {
            expect(translated(client, toward, { [field]: value }).dropped).toEqual([]);
          }
        }
      });
      continue;
    }

    test(`${field} is ${decision}`, () => {
      if (decision === "dropped") {
        for (const toward of others) expect(translated(client, toward, example).dropped).toContain(field);
        return;
      }
      const leavesTrace = others.some((toward) => {
        const refused = refusalOf(client, toward, example);
        if (refused instanceof GatewayError) return false;
        return refused !== JSON.stringify(translated(client, toward, beside));
      });
      expect(leavesTrace).toBe(!traceless.has(key));
    });

    if (["model", "messages", "input"].includes(field)) continue;

    test(`${field}: null is as good as nothing`, () => {
      for (const toward of others) {
        const missing = translated(client, toward, { ...beside, [field]: undefined as never });
        expect(translated(client, toward, { ...beside, [field]: null })).toEqual(missing);
      }
    });
  }

  test("a field that no SDK knows is dropped, and named", () => {
    for (const toward of others) {
      for (const field of ["x_new", "constructor", "toString", "__proto__"]) {
        const fields: JsonObject = JSON.parse(`{${JSON.stringify(field)}: 1}`);
        expect(translated(client, toward, fields).dropped).toEqual([field]);
      }
    }
  });
});

describe("an item or a block that is not read", () => {
  const wholes: readonly (readonly [BodyDialectName, string, WholeDecision])[] = [
    ...Object.entries(itemTypes).map(([type, decision]) => ["responses", type, decision] as const),
    ...Object.entries(blockTypes).map(([type, decision]) => ["messages", type, decision] as const),
  ];

  test.each(wholes.filter(([, , decision]) => decision !== "read"))(
    "%s %s is %s",
    (client, type, decision) => {
      const part = { type, id: "x_1", content: "?" };
      // Files are uploaded by the user; the other blocks stand in what the assistant said.
      const role = type === "container_upload" ? "user" : "assistant";
      const turns = [
        { role: "user", content: "Hi" },
        { role, content: [part, { type: "text", text: "Yes." }] },
      ];
      const fields: JsonObject = client === "responses" ? { input: [part] } : { messages: turns };
      const path = client === "responses" ? "input[0]" : "messages[1].content[0]";
      for (const toward of bodyDialectNames.filter((name) => name !== client)) {
        if (decision === "dropped") expect(translated(client, toward, fields).dropped).toContain(path);
        else expect(refusalOf(client, toward, fields)).toMatchObject({ param: path });
      }
    },
  );

  test("fields of those that are read are decided on one by one", () => {
    const image = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
    const turns = [
      { role: "user", content: [{ ...image, transformations: { oversized_image: "error" }, x: 1 }] },
    ];
    expect(translated("messages", "chat", { messages: turns }).dropped).toEqual([
      "image.transformations",
      "image.x",
    ]);
    const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}", id: "fc_1", async: true };
    const file = { type: "input_file", file_data: "data:text/plain;base64,QQ==", detail: "low" };
    const input = [call, { role: "user", content: [file] }];
    expect(translated("responses", "chat", { input }).dropped).toEqual([
      "function_call.async",
      "input_file.detail",
    ]);
    const parts = [{ type: "text", text: "Hi", x: 1 }];
    const said = translated("chat", "messages", { messages: [{ role: "user", content: parts }] });
    expect(said.dropped).toEqual(["text.x"]);
  });
});
