import { expect, test } from "bun:test";
import { withoutRequestText } from "../../src/gateway/exchange/describe-error.ts";

const known = new Set(["gpt-5.6"]);

function kept(message: string, body: unknown): string {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return withoutRequestText(message, new TextEncoder().encode(text), known);
}

const request = {
  model: "gpt-5.6",
  temperature: 3,
  messages: [
    { role: "assistant", content: "hunter2!" },
    { role: "user", content: [{ type: "text", text: "My diagnosis is a secret of mine" }] },
  ],
};

test("a message about the request stays as it is", () => {
  for (const message of [
    "temperature must be below 2, and it is 3.",
    "max_tokens is 20000, and gpt-5.6 allows at most 16384.",
    'messages[0].role must be "user", not "assistant".',
    "",
  ]) {
    expect(kept(message, request)).toBe(message);
  }
});

test("what a message quotes of the request is left out, whole or in part, escaped or short", () => {
  expect(kept("I cannot read “My diagnosis is a secret of mine”.", request)).toBe("I cannot read “[…]”.");
  expect(kept("Near 'diagnosis is a sec': no", request)).toBe("Near '[…]': no");
  expect(kept(`Refused: ${JSON.stringify(request)}`, request)).not.toContain("diagnosis");
  expect(kept('The word "hunter2!" is not allowed.', request)).toBe('The word "[…]" is not allowed.');
  expect(kept('There is no model "my-secret-model".', { model: "my-secret-model" })).toBe(
    'There is no model "[…]".',
  );
});

test("a body that is no JSON is compared as it is, and one that was too large cuts the message", () => {
  expect(kept("Unexpected token in 'this is no JSON at all'", "this is no JSON at all")).toBe(
    "Unexpected token in '[…]'",
  );
  expect(withoutRequestText('Bad input: "anything at all"', null, known)).toBe("Bad input: […]");
  expect(withoutRequestText("The model is overloaded.", null, known)).toBe("The model is overloaded.");
});
