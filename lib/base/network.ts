/** What tells one sender from another, whatever addresses it has. */
import { isIPv6, SocketAddress } from 'node:net'

/** The network that an address counts as: of IPv6 the first 64 bits, because everybody has so many addresses. */
export function networkOf(ip: string): string {
  if (!ip.includes(':') || !isIPv6(ip)) return ip // nearly all have none, and the pattern of IPv6 is long
  const [head = '', tail = ''] = new SocketAddress({ address: ip, family: 'ipv6' }).address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const behind = tail === '' ? [] : tail.split(':')
  const zeros = Array(Math.max(0, 8 - groups.length - behind.length)).fill('0')
  return `${[...groups, ...zeros, ...behind].slice(0, 4).join(':')}::/64`
}
