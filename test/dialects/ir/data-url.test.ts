import { expect, test } from "bun:test";
import { dataUrl, parseDataUrl } from "../../../src/dialects/ir/data-url.ts";

test("a data URL is read whatever the case and the parameters of its media type", () => {
  const png = { kind: "base64" as const, mediaType: "image/png", data: "iVBORw0=" };
  expect(parseDataUrl("data:image/PNG;charset=utf-8;base64,iVBORw0=")).toEqual(png);
  expect(parseDataUrl(dataUrl(png))).toEqual(png);
});

test("an address, or a data URL that is not base64, is no bytes", () => {
  expect(parseDataUrl("https://example.com/data:image/png;base64,x")).toBeNull();
  expect(parseDataUrl("data:text/plain,hello")).toBeNull();
});
