import { expect, test } from "bun:test";
import { priceView } from "../../../src/admin/models/schema.ts";
import { priceSchema } from "../../../src/config/schema/price.ts";

/** The names of a schema's fields, including nested ones. */
function namesIn(schema: object, at = ""): string[] {
  const { properties = {}, patternProperties = {} } = schema as {
    readonly properties?: Readonly<Record<string, object>>;
    readonly patternProperties?: Readonly<Record<string, object>>;
  };
  const named = Object.entries(properties).flatMap(([name, inner]) => [
    `${at}${name}`,
    ...namesIn(inner, `${at}${name}.`),
  ]);
  return [...named, ...Object.values(patternProperties).flatMap((inner) => namesIn(inner, `${at}*.`))];
}

test("the admin API shows every price that can be configured", () => {
  expect(namesIn(priceView).toSorted()).toEqual(namesIn(priceSchema).toSorted());
  expect(namesIn(priceView)).toContain("tiers.*.long_context.above");
});
