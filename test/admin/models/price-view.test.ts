import { expect, test } from "bun:test";
import { priceView } from "../../../src/admin/models/schema.ts";
import { onePriceSchema } from "../../../src/config/schema/price.ts";

/** The names of a schema's fields, including nested ones. */
function namesIn(schema: object, at = ""): string[] {
  const {
    properties = {},
    patternProperties = {},
    anyOf = [],
  } = schema as {
    readonly properties?: Readonly<Record<string, object>>;
    readonly patternProperties?: Readonly<Record<string, object>>;
    readonly anyOf?: readonly object[];
  };
  const named = Object.entries(properties).flatMap(([name, inner]) => [
    `${at}${name}`,
    ...namesIn(inner, `${at}${name}.`),
  ]);
  const patterns = Object.values(patternProperties).flatMap((inner) => namesIn(inner, `${at}*.`));
  return [...named, ...patterns, ...anyOf.flatMap((inner) => namesIn(inner, at))];
}

test("the admin API shows every price that can be configured, and those that begin later", () => {
  const shown = [...new Set(namesIn(priceView))];
  const isLater = (name: string) => name.startsWith("later");
  const configured = [...new Set(namesIn(onePriceSchema))].toSorted();
  // The gateway charges for requests by the size of their search under names of its own.
  const plain = configured.filter((name) => !name.startsWith("requests."));
  expect(shown.filter((name) => !isLater(name)).toSorted()).toEqual(plain);
  expect(shown.filter(isLater).map((name) => name.replace(/^later\.\*\./, ""))).toEqual(
    expect.arrayContaining(["input", "tiers.*.long_context.above"]),
  );
});
