import { test } from "bun:test";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { describeCaps } from "./caps-suite.ts";
import { openShared } from "./shared-payers.ts";

if (hasPostgres) describeCaps("on PostgreSQL", openShared);
else test.skipIf(true)(withoutPostgres, () => {});
