import { openStore } from "../../../src/store/open.ts";
import type { SettleItem } from "../fixtures.ts";
import type { StoreKind, TestDatabase } from "../kind.ts";
import { bookCharges } from "./charge.ts";
import { clientOf, migratedDatabase } from "./fixtures.ts";

interface PostgresTestDatabase extends TestDatabase {
  readonly url: string;
}

export const postgres = {
  name: "PostgreSQL",
  async create(): Promise<PostgresTestDatabase> {
    const database = await migratedDatabase();
    const { url } = database;
    const location = { url, password: null, prepare: true };
    const booking = clientOf(url, { max: 1 });
    return {
      url,
      location,
      openGateway: async (clock) => {
        const store = await openStore({ location, clock, role: "gateway" });
        const charge = (items: readonly SettleItem[]) => bookCharges(booking, items);
        return Object.assign(store, { charge });
      },
      openOperator: (clock) => openStore({ location, clock, role: "operator" }),
      [Symbol.asyncDispose]: async () => {
        await booking.close();
        await database[Symbol.asyncDispose]();
      },
    };
  },
} satisfies StoreKind<PostgresTestDatabase>;
