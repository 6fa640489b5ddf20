/** Addresses out of an extended public key, and what such a key must be. */
import { HDKey } from '@scure/bip32'
import t from 'tap'
import { addressAt, checksummed, walletOf, xpubFault } from '../../lib/config/xpub.ts'

/** The seed of "test test test test test test test test test test test junk", whose addresses every wallet's tests know. */
const SEED =
  '9dfc3c64c2f8bede1533b6a79f8570e5943e0b8fd1cf77107adf7b72cef42185d564a3aee24cab43f80e3c4538087d70fc824eabbad596a23c97b6ee8322ccc0'
const root = HDKey.fromMasterSeed(Buffer.from(SEED, 'hex'))
const account = root.derive("m/44'/60'/0'")
const { publicExtendedKey: xpub, privateExtendedKey: xprv } = account

t.test('addresses are those of wallets', async t => {
  const known: [number, string][] = [
    [0, '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
    [1, '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
    [2, '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'],
  ]
  for (const [number, address] of known) {
    t.equal(addressAt(xpub, number), address.toLowerCase())
    t.equal(checksummed(addressAt(xpub, number)), address)
  }
  t.equal(new Set(Array.from({ length: 50 }, (_, i) => addressAt(xpub, i))).size, 50)
  for (const number of [-1, 0.5, 2 ** 31, Number.NaN]) t.throws(() => addressAt(xpub, number), RangeError)
})

t.test('what is refused, without a word of the key', async t => {
  const flipped = `${xpub.slice(0, 50)}${xpub[50] === 'a' ? 'b' : 'a'}${xpub.slice(51)}`
  const rows: [name: string, text: string, fault: RegExp][] = [
    ['a private key', xprv, /private/],
    ['the private key of the root', root.privateExtendedKey, /private/],
    ['the root', root.publicExtendedKey, /hardened account/],
    ['a key of the list of addresses', account.deriveChild(0).publicExtendedKey, /hardened account/],
    ['an account that is not hardened', root.derive("m/44'/60'/0").publicExtendedKey, /hardened account/],
    ['a slip of the pen', flipped, /extended public key/],
    ['nothing', '', /extended public key/],
  ]
  t.equal(xpubFault(xpub), null)
  for (const [name, text, fault] of rows) {
    const said = xpubFault(text) ?? ''
    t.match(said, fault, name)
    if (text !== '') t.notOk(said.includes(text.slice(0, 12)), 'it is not repeated')
  }
  t.match(walletOf(xpub), /^[0-9a-f]{16}$/)
})
