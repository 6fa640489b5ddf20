/**
 * The address of a client, also behind trusted proxies, and lists of addresses and CIDRs that it is compared with. An
 * IPv4 address may be written as an IPv4-mapped IPv6 address (`::ffff:1.2.3.4`, also `::ffff:102:304`). Both lists and
 * client addresses are turned into plain IPv4 before they are compared.
 */
import { BlockList, isIP, isIPv4, SocketAddress } from 'node:net'

/** Stands for an address that cannot be parsed; it matches no list. */
const NOWHERE = ''
const MAPPED_BITS = 96
const BITS = { 4: 32, 6: 128 } as const

/**
 * A list of addresses and CIDRs. An entry that is neither matches nothing, so a list without a valid entry admits
 * nobody.
 */
export class AddressList {
  readonly #list = new BlockList()
  /** The latest question and its answer, because the same address is often asked for again. */
  #address = ''
  #isIn = false

  constructor(entries: readonly string[]) {
    for (const entry of entries) addEntry(this.#list, entry.trim())
  }

  /** `address` is a text without port and brackets. */
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
  // the prefix of an IPv4-mapped network counts from the beginning of the IPv6 address
  const prefix = Number(bits) - (address === text ? 0 : MAPPED_BITS)
  if (!/^\d{1,3}$/.test(bits) || rest.length > 0 || prefix > BITS[family]) return
  if (prefix >= 0) list.addSubnet(address, prefix, type)
  else list.addSubnet(text, Number(bits), 'ipv6')
}

/** The latest peer address in both forms: most connections come from the same few proxies, one after the other. */
let latestRemote = ''
let latestNormal = ''

function normalRemote(remote: string): string {
  if (remote !== latestRemote) {
    latestNormal = normal(remote)
    latestRemote = remote
  }
  return latestNormal
}

/**
 * The client's address: the rightmost entry of `x-forwarded-for` that is not a trusted proxy, because the client may
 * have invented all entries left of it. Without trusted proxies it is the peer of the connection (`remote`).
 */
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

/** An address without port, brackets and zone, IPv4-mapped ones as IPv4; NOWHERE when it cannot be parsed. */
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
