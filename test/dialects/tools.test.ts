import { describe, expect, test } from "bun:test";
import type { ReasoningSignature } from "../../src/dialects/ir/ir.ts";
import {
  isReasoningEnvelope,
  unwrapReasoning,
  wrapReasoning,
  wrapSignature,
} from "../../src/dialects/reasoning/reasoning-envelope.ts";
import { callInput } from "../../src/dialects/tools/call-input.ts";
import { InputUnwrapper, unwrapInput, wrapInput } from "../../src/dialects/tools/custom-input.ts";

describe("the input of a freeform tool comes out as it was (C34)", () => {
  const inputs = [
    "",
    "plain",
    'quotes " and \\ and \\n',
    "line\nbreaks\r\n\ttabs",
    "Grüße 世界 👩‍👩‍👧 \u0000 \u2028",
    "{}",
  ];

  test("whole", () => {
    for (const input of inputs) expect(unwrapInput(wrapInput(input))).toBe(input);
  });

  test("cut anywhere, escapes included", () => {
    for (const input of inputs) {
      const json = JSON.stringify({ input }).replace(
        /[\u0080-\uffff]/g,
        (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
      for (let at = 0; at <= json.length; at += 1) {
        const unwrapper = new InputUnwrapper();
        expect(unwrapper.push(json.slice(0, at)) + unwrapper.push(json.slice(at)) + unwrapper.end()).toBe(
          input,
        );
      }
    }
  });

  test("what leaves early is right already", () => {
    const unwrapper = new InputUnwrapper();
    expect(unwrapper.push('{"input": "*** Beg')).toBe("*** Beg");
    expect(unwrapper.push("in\\")).toBe("in");
    expect(unwrapper.push('n"}')).toBe("\n");
    expect(unwrapper.end()).toBe("");
  });
});

test("a envelope gives back exactly what it was given (C46)", () => {
  const signatures: ReasoningSignature[] = [
    { maker: "anthropic", signature: "EqQB+/==" },
    { maker: "anthropic-redacted", data: "zzz" },
    { maker: "openai", id: "rs_1", encryptedContent: "gAAAA", raw: false },
    { maker: "openai", id: null, encryptedContent: null, raw: true },
    { maker: "chat" },
  ];
  const parts = ["First é.", "", "Third\n\n."];
  for (const signature of signatures) {
    expect(unwrapReasoning(wrapReasoning(signature, parts), "rewritten")).toEqual({
      type: "reasoning",
      parts,
      signature,
    });
    const lengths = parts.map((part) => part.length);
    expect(unwrapReasoning(wrapSignature(signature, lengths), parts.join("\n\n"))).toEqual({
      type: "reasoning",
      parts,
      signature,
    });
    expect(unwrapReasoning(wrapSignature(signature, [4]), "text")).toEqual({
      type: "reasoning",
      parts: ["text"],
      signature,
    });
  }
});

test("what is no envelope, or a damaged one, is nobody's reasoning (C45)", () => {
  for (const text of ["", "EqQBsig==", "gAAAAcipher"]) expect(isReasoningEnvelope(text)).toBe(false);
  const forged = (payload: unknown) => `slu1.${Buffer.from(JSON.stringify(payload)).toString("base64url")}`;
  for (const text of [
    "slu1.",
    "slu1.!!!",
    forged([]),
    forged({}),
    forged({ seal: { maker: "x" } }),
    forged({ seal: { maker: "anthropic" } }),
  ]) {
    expect(unwrapReasoning(text, "visible")).toBeNull();
  }
});

test("input that is no object is kept where whoever executes the tool sees it (C70)", () => {
  expect(callInput("")).toEqual({});
  expect(callInput('{"a":1}')).toEqual({ a: 1 });
  expect(callInput('{"a":')).toEqual({ invalid_arguments: '{"a":' });
  expect(callInput("[1]")).toEqual({ invalid_arguments: "[1]" });
});
