/** Who is calling, behind which proxies, and whether a key may be used from there. */
import { BlockList, isIP } from 'node:net'

/** Matches no list: what a caller says of itself and nobody can read. */
const NOWHERE = ''

/** Addresses and CIDRs, valid ones: the config and the admin API have checked them. */
export function compileAddresses(list: readonly string[]): BlockList {
  const compiled = new BlockList()
  for (const entry of list) {
    const [text = '', bits] = entry.trim().split('/')
    const address = unmapped(text)
    const family = isIP(address)
    if (family === 0) continue
    const type = family === 4 ? 'ipv4' : 'ipv6'
    if (bits === undefined) compiled.addAddress(address, type)
    else compiled.addSubnet(address, Number(bits), type)
  }
  return compiled
}

export function allowed(list: BlockList, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

/** The rightmost hop that is not one of our own proxies: what stands left of it, the caller may have invented. */
export function clientAddress(
  remote: string | undefined,
  forwardedFor: string | undefined,
  trusted: BlockList | null,
): string {
  let address = normal(remote ?? '')
  if (trusted === null || forwardedFor === undefined) return address
  const hops = forwardedFor.split(',')
  for (let i = hops.length - 1; i >= 0 && allowed(trusted, address); i--) address = normal(hops[i] as string)
  return address
}

/** Without port, brackets or zone, and IPv4 as IPv4. */
function normal(text: string): string {
  let address = text.trim()
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(address)
  if (bracketed !== null) address = bracketed[1] as string
  else if (/^[\d.]+:\d+$/.test(address)) address = address.slice(0, address.indexOf(':'))
  address = unmapped(address.replace(/%.*$/, ''))
  return isIP(address) === 0 ? NOWHERE : address
}

/** `::ffff:1.2.3.4` is 1.2.3.4. */
const unmapped = (address: string): string => /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
