/** Where a host is: this machine, a network that only its own machines reach, or the internet. Names are not resolved. */
import { BlockList, isIP } from 'node:net'

const HERE = new BlockList()
HERE.addSubnet('127.0.0.0', 8, 'ipv4')
HERE.addAddress('::1', 'ipv6')

const PRIVATE = new BlockList()
for (const [address, bits] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  PRIVATE.addSubnet(address, bits, 'ipv4')
PRIVATE.addSubnet('fc00::', 7, 'ipv6')
PRIVATE.addSubnet('fe80::', 10, 'ipv6')

/** Names that no public name server knows, and those of containers and machines of one network, which have no dot. */
const PRIVATE_NAME = /^[^.]+$|\.(?:internal|intranet|lan|local|home|corp|test|invalid|svc|cluster\.local|home\.arpa)$/

export type Where = 'here' | 'private' | 'public'

/** `host`: as in a URL or a listener, IPv6 with brackets or without. Every address (`0.0.0.0`, `::`) is public. */
export function whereIs(host: string): Where {
  const plain = host
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()
  const version = isIP(plain)
  if (version === 0) {
    if (plain === 'localhost' || plain.endsWith('.localhost')) return 'here'
    return PRIVATE_NAME.test(plain) ? 'private' : 'public'
  }
  const family = version === 6 ? 'ipv6' : 'ipv4'
  if (HERE.check(plain, family)) return 'here'
  return PRIVATE.check(plain, family) ? 'private' : 'public'
}
