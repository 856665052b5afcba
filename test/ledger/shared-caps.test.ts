import { test } from "bun:test";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { openShared } from "./accounts-kinds.ts";
import { describeCaps } from "./caps-suite.ts";

if (hasPostgres) describeCaps("on PostgreSQL", openShared);
else test.skipIf(true)(withoutPostgres, () => {});
