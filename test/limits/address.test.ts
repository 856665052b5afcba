import { describe, expect, test } from "bun:test";
import { addressBlock, clientAddress, trustedProxies } from "../../src/limits/address.ts";

describe("the client's address", () => {
  const trusted = trustedProxies(["10.0.0.0/8", "192.0.2.7", "fd00::/8"]);
  const cases: [peer: string, forwardedFor: string | null, client: string][] = [
    ["203.0.113.9", null, "203.0.113.9"],
    ["203.0.113.9", "1.1.1.1", "203.0.113.9"],
    ["10.1.1.1", null, "10.1.1.1"],
    ["10.1.1.1", "1.1.1.1", "1.1.1.1"],
    ["10.1.1.1", "6.6.6.6, 1.1.1.1", "1.1.1.1"],
    ["10.1.1.1", "6.6.6.6, 1.1.1.1, 192.0.2.7", "1.1.1.1"],
    ["10.1.1.1", "10.2.2.2, 10.3.3.3", "10.2.2.2"],
    ["10.1.1.1", "1.1.1.1, nonsense", "10.1.1.1"],
    ["10.1.1.1", "1.1.1.1, nonsense, 10.3.3.3", "10.3.3.3"],
    ["10.1.1.1", "", "10.1.1.1"],
    ["10.1.1.1", "1.1.1.1:4711", "1.1.1.1"],
    ["10.1.1.1", "[2001:DB8::1]:4711", "2001:db8::1"],
    ["::ffff:10.1.1.1", "1.1.1.1", "1.1.1.1"],
    ["fd12::1", "2001:db8::2", "2001:db8::2"],
    ["fe80::1", "2001:db8::2", "fe80::1"],
    ["192.0.2.8", "1.1.1.1", "192.0.2.8"],
    ["", "1.1.1.1", ""],
  ];
  for (const [peer, forwardedFor, client] of cases) {
    test(`peer ${peer || "unknown"} saying ${forwardedFor} is ${client || "unknown"}`, () => {
      expect(clientAddress(peer, forwardedFor, trusted)).toBe(client);
    });
  }

  const ranges: [range: string, inside: string, outside: string][] = [
    ["2001:db8::/32", "2001:db8:ffff::1", "2001:db9::1"],
    ["2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"],
    ["2001:db8:1::/48", "2001:db8:1:ffff::1", "2001:db8:2::1"],
    ["2001:db8::/64", "2001:db8::ffff:1", "2001:db8:0:1::1"],
    ["2001:db8::/65", "2001:db8::7fff:0:0:1", "2001:db8::8000:0:0:1"],
    ["2001:db8::/96", "2001:db8::ffff:ffff", "2001:db8::1:0:0"],
    ["2001:db8::10/127", "2001:db8::11", "2001:db8::12"],
    ["2001:db8::10/128", "2001:db8::10", "2001:db8::11"],
    ["2001:db8::10", "2001:db8::10", "2001:db8::11"],
    ["::ffff:10.0.0.0/104", "10.9.9.9", "11.0.0.0"],
    ["10.0.0.0/31", "10.0.0.1", "10.0.0.2"],
    ["10.0.0.0/32", "10.0.0.0", "10.0.0.1"],
  ];
  for (const [range, inside, outside] of ranges) {
    test(`${range} trusts ${inside} and not ${outside}`, () => {
      const proxies = trustedProxies(["192.0.2.1", range]);
      expect(clientAddress(inside, "1.1.1.1", proxies)).toBe("1.1.1.1");
      expect(clientAddress(outside, "1.1.1.1", proxies)).toBe(outside);
      expect(clientAddress("192.0.2.1", "1.1.1.1", proxies)).toBe("1.1.1.1");
    });
  }

  test("an IPv4 address in IPv6 is that address, however it is written", () => {
    for (const written of ["::ffff:1.2.3.4", "::FFFF:102:304", "[::ffff:0102:0304]:80"]) {
      expect(clientAddress("10.0.0.1", written, trusted)).toBe("1.2.3.4");
    }
  });

  test("ranges that make no sense trust nobody", () => {
    for (const bad of [
      "10.0.0.0/33",
      "example.com",
      "10.0.0.0/",
      "10.0.0.0/8/8",
      "::/129",
      "",
      "10.0.0.0/-1",
    ]) {
      expect(clientAddress("10.0.0.0", "1.1.1.1", trustedProxies([bad]))).toBe("10.0.0.0");
    }
  });

  test("blocks of IPv6 are written in one way", () => {
    expect(addressBlock("::1")).toBe("0:0:0:0::/64");
    expect(addressBlock("2001:0DB8::")).toBe("2001:db8:0:0::/64");
    expect(addressBlock("1:2:3:4:5:6:7:8")).toBe("1:2:3:4::/64");
    expect(addressBlock("fe80::1%eth0")).toBe("fe80:0:0:0::/64");
    expect(addressBlock("192.0.2.1")).toBe("192.0.2.1");
  });
});
