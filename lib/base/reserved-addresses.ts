/**
 * Addresses that no upstream may have unless its channel says `private: true`, as a protection against server-side
 * request forgery: link-local addresses, where the metadata services of clouds hand out the credentials of the machine,
 * and addresses that name no host. Loopback and private networks are allowed, because only administrators write the
 * catalogue and their own upstreams are often there.
 */
import { BlockList, isIP } from 'node:net'

const RESERVED = new BlockList()
for (const [address, bits] of [
  ['169.254.0.0', 16], // link-local, and most clouds' metadata
  ['0.0.0.0', 8],
  ['100.100.100.200', 32], // metadata
  ['168.63.129.16', 32], // metadata
  ['255.255.255.255', 32],
] as const)
  RESERVED.addSubnet(address, bits, 'ipv4')
for (const [address, bits] of [
  ['fe80::', 10],
  ['fd00:ec2::254', 128], // metadata
  ['fd20:ce::254', 128], // metadata
  ['::', 128],
] as const)
  RESERVED.addSubnet(address, bits, 'ipv6')

/** The eight 16-bit groups of an IPv6 address. The URL parser brings every spelling into one form first. */
export function groupsOf(address: string): number[] {
  const halves = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const parts = (text: string | undefined) => (text ? text.split(':').map(g => Number.parseInt(g, 16)) : [])
  const [head, tail] = [parts(halves[0]), parts(halves[1])]
  return halves.length === 1 ? head : [...head, ...Array(8 - head.length - tail.length).fill(0), ...tail]
}

/** The IPv4 address inside an IPv6 address (mapped, compatible, NAT64 or 6to4), dotted; null = there is none. */
function embedded(address: string): string | null {
  const all = groupsOf(address)
  const dotted = (a: number, b: number) => `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`
  const leading = all.slice(0, 5).every(g => g === 0)
  if (leading && (all[5] === 0xffff || (all[5] === 0 && (all[6] !== 0 || all[7]! > 1)))) return dotted(all[6]!, all[7]!)
  if (all[0] === 0x64 && all[1] === 0xff9b) return dotted(all[6]!, all[7]!)
  if (all[0] === 0x2002) return dotted(all[1]!, all[2]!)
  return null
}

/** `address` is an IP address without brackets. What is no IP address is not reserved. */
export function isReserved(address: string): boolean {
  const plain = address.split('%')[0] as string // without a zone
  const version = isIP(plain)
  if (version === 4) return RESERVED.check(plain, 'ipv4')
  if (version === 0) return false
  const inner = embedded(plain)
  return RESERVED.check(plain, 'ipv6') || (inner !== null && RESERVED.check(inner, 'ipv4'))
}

/** Host names of the metadata services. */
const RESERVED_NAMES = new Set(['metadata.google.internal', 'metadata.goog', 'instance-data'])

/**
 * Whether the host in a URL is a reserved address or name. What a name resolves to is checked later, when it is
 * connected to (`lib/upstream/pools.ts`). The URL parser turns decimal, octal and hexadecimal spellings of an address
 * into the usual one, but not for `socks5:`, which is therefore read as `http:`.
 */
export function namesReserved(url: string): boolean {
  const host = new URL(url.replace(/^socks5:/, 'http:')).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  return RESERVED_NAMES.has(host) || isReserved(host)
}
