/**
 * Addresses that no upstream may have unless its channel says `private: true`: link-local ones, where clouds answer with
 * the credentials of the machine itself, and those that mean no host. Loopback and private networks are allowed: the
 * catalogue is the administrator's, and upstreams of one's own stand there.
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

/** The eight groups of an IPv6 address. */
export function groupsOf(address: string): number[] {
  const halves = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const parts = (text: string | undefined) => (text ? text.split(':').map(g => Number.parseInt(g, 16)) : [])
  const [head, tail] = [parts(halves[0]), parts(halves[1])]
  return halves.length === 1 ? head : [...head, ...Array(8 - head.length - tail.length).fill(0), ...tail]
}

/** IPv4 inside of IPv6: mapped, compatible, NAT64 and 6to4, as the first sixteen bytes tell. */
function embedded(address: string): string | null {
  const all = groupsOf(address)
  const dotted = (a: number, b: number) => `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`
  const leading = all.slice(0, 5).every(g => g === 0)
  if (leading && (all[5] === 0xffff || (all[5] === 0 && (all[6] !== 0 || all[7]! > 1)))) return dotted(all[6]!, all[7]!)
  if (all[0] === 0x64 && all[1] === 0xff9b) return dotted(all[6]!, all[7]!)
  if (all[0] === 0x2002) return dotted(all[1]!, all[2]!)
  return null
}

/** `address`: an IP address without brackets; anything else is not reserved. */
export function isReserved(address: string): boolean {
  const plain = address.split('%')[0] as string // without a zone
  const version = isIP(plain)
  if (version === 4) return RESERVED.check(plain, 'ipv4')
  if (version === 0) return false
  const inner = embedded(plain)
  return RESERVED.check(plain, 'ipv6') || (inner !== null && RESERVED.check(inner, 'ipv4'))
}

/** Names under which clouds answer with the same. */
const RESERVED_NAMES = new Set(['metadata.google.internal', 'metadata.goog', 'instance-data'])

/**
 * Of a URL, as far as its text tells: what the name resolves to is looked at when it is connected to. The parser has
 * already undone decimal, octal and hexadecimal spellings, though only of schemes that the web knows.
 */
export function namesReserved(url: string): boolean {
  const host = new URL(url.replace(/^socks5:/, 'http:')).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  return RESERVED_NAMES.has(host) || isReserved(host)
}
