import { describe, expect, test } from "bun:test";
import { AdminToken, readyAdminToken, type TokenStore } from "../../../src/admin/auth/admin-token.ts";

function memory(): TokenStore & { hash: string | null } {
  return {
    hash: null,
    async readAdminTokenHash() {
      return this.hash;
    },
    async saveAdminTokenHash(hash) {
      this.hash = hash;
    },
  };
}

describe("the admin token", () => {
  test("is made once, kept as a hash only, and known again", async () => {
    const store = memory();
    const first = await readyAdminToken(null, store);
    expect(first.made).toMatch(/^slua_[0-9A-Za-z]{32}$/);
    expect(store.hash).toBeNull();
    await first.keep();
    expect(store.hash).not.toContain(first.made ?? "");
    const second = await readyAdminToken(null, store);
    expect(second.made).toBeNull();
    expect(second.token.matches(first.made ?? "")).toBeTrue();
  });

  test("that is configured comes before the one that was made", async () => {
    const store = memory();
    const { token, made } = await readyAdminToken("mine", store);
    expect(made).toBeNull();
    expect(token.matches("mine")).toBeTrue();
  });

  test("is never empty: an empty setting is no setting", async () => {
    const { token, made } = await readyAdminToken("", memory());
    expect(made).not.toBeNull();
    expect(token.matches("")).toBeFalse();
  });

  test("matches only itself, whatever the length of the guess", () => {
    const token = AdminToken.of("right");
    for (const guess of ["", "r", "righ", "right ", "Right", "x".repeat(100_000)]) {
      expect(token.matches(guess)).toBeFalse();
    }
    expect(AdminToken.ofHash(token.hashHex).matches("right")).toBeTrue();
  });
});
