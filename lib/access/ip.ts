/**
 * Who is calling, behind which proxies, and whether a key may be used from there. An IPv4 address may come in IPv6's
 * clothes (`::ffff:1.2.3.4`, also written `::ffff:102:304`): lists and addresses are undressed alike before they meet.
 */
import { BlockList, isIP, isIPv4, SocketAddress } from 'node:net'

/** Matches no list: what a caller says of itself and nobody can read. */
const NOWHERE = ''
const MAPPED_BITS = 96
const BITS = { 4: 32, 6: 128 } as const

/** Addresses and CIDRs. An entry that is neither matches nothing, so a list without a valid one lets nobody in. */
export class AddressList {
  readonly #list = new BlockList()
  /** What was asked last, which is often asked again. */
  #address = ''
  #isIn = false

  constructor(entries: readonly string[]) {
    for (const entry of entries) addEntry(this.#list, entry.trim())
  }

  /** `address`: as text, without port or brackets. */
  has(address: string): boolean {
    if (address !== this.#address) {
      this.#address = address
      const family = isIP(address)
      this.#isIn = family !== 0 && this.#list.check(address, family === 4 ? 'ipv4' : 'ipv6')
    }
    return this.#isIn
  }
}

function addEntry(list: BlockList, entry: string): void {
  const [text = '', bits, ...rest] = entry.split('/')
  const address = unmapped(text)
  const family = isIP(address)
  if (family !== 4 && family !== 6) return
  const type = family === 4 ? 'ipv4' : 'ipv6'
  if (bits === undefined) {
    list.addAddress(address, type)
    return
  }
  // of a mapped network, the bits that are about its IPv4 part
  const prefix = Number(bits) - (address === text ? 0 : MAPPED_BITS)
  if (!/^\d{1,3}$/.test(bits) || rest.length > 0 || prefix > BITS[family]) return
  if (prefix >= 0) list.addSubnet(address, prefix, type)
  else list.addSubnet(text, Number(bits), 'ipv6')
}

/** Connections mostly come from the same few proxies, one after the other. */
let latestRemote = ''
let latestNormal = ''

function normalRemote(remote: string): string {
  if (remote !== latestRemote) {
    latestNormal = normal(remote)
    latestRemote = remote
  }
  return latestNormal
}

/** The rightmost hop that is not one of our own proxies: what stands left of it, the caller may have invented. */
export function clientAddress(
  remote: string | undefined,
  forwardedFor: string | undefined,
  trusted: AddressList | null,
): string {
  let address = normalRemote(remote ?? '')
  if (trusted === null || forwardedFor === undefined) return address
  const hops = forwardedFor.split(',')
  for (let i = hops.length - 1; i >= 0 && trusted.has(address); i--) address = normal(hops[i] as string)
  return address
}

/** Without port, brackets or zone, and IPv4 as IPv4. */
function normal(text: string): string {
  if (isIPv4(text)) return text
  let address = text.trim()
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(address)
  if (bracketed !== null) address = bracketed[1] as string
  else if (/^[\d.]+:\d{1,5}$/.test(address)) address = address.slice(0, address.indexOf(':'))
  address = unmapped(address.replace(/%.*$/s, ''))
  return isIP(address) === 0 ? NOWHERE : address
}

function unmapped(address: string): string {
  if (!/ffff:/i.test(address) || isIP(address) !== 6) return address
  const written = new SocketAddress({ address, family: 'ipv6' }).address
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(written)?.[1] ?? address
}
