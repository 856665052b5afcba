import { type Static, Type } from "@sinclair/typebox";
import { newId } from "../../base/id.ts";
import type { StoredModel, StoredPrices } from "../../config/catalog/stored-prices.ts";
import { body, nullable, text } from "../formats/shapes.ts";
import { type AdminRoute, get, post } from "../routes/route.ts";

const catalogs = Type.Record(
  Type.String(),
  Type.Array(Type.Unsafe<StoredModel>(Type.Object({ id: Type.String() }, { additionalProperties: true }))),
  { description: "By the name of the catalog: each model as in `[[models]]`." },
);

const storedPricesView = Type.Object({
  version: nullable(text("Null if none are stored.")),
  catalogs,
});
export type StoredPricesView = Static<typeof storedPricesView>;

const storePricesBody = body({
  replaces: nullable(
    text("The `version` that these prices replace, so that someone else's change is not overwritten."),
  ),
  catalogs: Type.Union([catalogs, Type.Null()], { description: "Null removes the stored prices." }),
  summary: Type.String({ maxLength: 2000, description: "For the audit log." }),
});

const storedView = Type.Object({ version: nullable(Type.String()) });

/** A whole catalog has some 300 KB. */
const maxBytes = 8 * 1024 * 1024;

export const priceRoutes: readonly AdminRoute[] = [
  get(
    "/prices",
    "Show the stored prices that override the built-in catalog",
    { answers: storedPricesView },
    async ({ deps }) => {
      const stored = await deps.store.admin.readPrices();
      if (stored === null) return { version: null, catalogs: {} };
      // The cast holds because the operation below wrote the text.
      return { version: stored.version, catalogs: JSON.parse(stored.content) as StoredPrices["catalogs"] };
    },
  ),
  post(
    "/prices",
    "Store prices that override the built-in catalog",
    { body: storePricesBody, answers: storedView, maxBytes },
    async ({ deps: { store, configOnDisk }, body: { replaces, catalogs: next, summary: detail } }) => {
      const prices = next === null ? null : { version: newId("prices_"), catalogs: next };
      // A gateway could not start with prices that its configuration does not load with.
      await configOnDisk?.load(prices);
      const record = prices && { version: prices.version, content: JSON.stringify(prices.catalogs) };
      await store.admin.savePrices(record, replaces);
      // The log says why, if the configuration was rejected meanwhile.
      await configOnDisk?.reload({ suspendsKeys: false }).catch(() => {});
      const change = { action: "models.update", target: "prices", detail };
      return { answer: { version: prices?.version ?? null }, change };
    },
  ),
];
