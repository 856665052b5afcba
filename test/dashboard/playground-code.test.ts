import { describe, expect, test } from "bun:test";
import { type CodeRequest, codeOf, pythonLiteral } from "../../src/dashboard/page/playground/code.ts";
import { pageRoutes } from "../../src/dashboard/page/playground/routes.ts";

function requestOf(name: string, path: string, body: CodeRequest["body"]): CodeRequest {
  const route = pageRoutes[name];
  if (route === undefined) throw new Error(`no route ${name}`);
  return { origin: "http://127.0.0.1:1", path, route, body };
}

const sent = {
  model: "it's",
  messages: [{ role: "user", content: 'say "hi"' }],
  stream: true,
  tools: undefined,
};

describe("a request of the playground as a program", () => {
  test("is valid TypeScript on every route, and leaves out what is not sent", () => {
    const transpiler = new Bun.Transpiler({ loader: "ts" });
    for (const name of Object.keys(pageRoutes)) {
      const code = codeOf("TypeScript", requestOf(name, "/v1/x", sent)) ?? "";
      expect(transpiler.transformSync(code)).toContain("process.env.SLUICE_KEY");
      expect(code).not.toContain("tools");
    }
  });

  test("has the address that each SDK wants, on the origin of the key's mode", () => {
    const chat = codeOf("Python", requestOf("chat", "/token/v1/chat/completions", sent));
    expect(chat).toContain('OpenAI(base_url="http://127.0.0.1:1/token/v1"');
    expect(chat).toContain("    stream=True,\n)\nfor event in response:");
    const messages = codeOf("Python", requestOf("messages", "/token/v1/messages", sent));
    expect(messages).toContain('Anthropic(base_url="http://127.0.0.1:1/token"');
  });

  test("quotes what a shell would read, and sends files as curl alone does", () => {
    expect(codeOf("curl", requestOf("chat", "/v1/chat/completions", sent))).toContain(`"model":"it'\\''s"`);
    const form = new FormData();
    form.set("file", new File(["x"], "a.wav"));
    const request = requestOf("createTranscription", "/v1/audio/transcriptions", form);
    expect(codeOf("curl", request)).toContain("-F 'file=@a.wav'");
    expect(codeOf("Python", request)).toBeNull();
  });

  test("writes JSON as Python does", () => {
    expect(pythonLiteral({ a: [true, null, 1.5], b: {} })).toBe(
      '{\n    "a": [\n        True,\n        None,\n        1.5,\n    ],\n    "b": {},\n}',
    );
  });
});
