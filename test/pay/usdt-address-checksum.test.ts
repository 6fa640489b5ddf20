/**
 * The letters of an address carry a checksum. It was not looked at: an address with a wrong digit was taken, and shown again with
 * letters that fitted it.
 */
// The bug behind these rows: tokens sent to an address typed wrong.
import t from 'tap'
import { refundForm } from '../../lib/pay/admin.ts'
import { checksummed } from '../../lib/config/xpub.ts'

const RIGHT = checksummed('0x90342dfe8ff67c63dbe8bb2cbd799b686b5cced2')

const ADDRESSES: [name: string, address: string, taken: boolean][] = [
  ['with its checksum', RIGHT, true],
  ['in small letters', RIGHT.toLowerCase(), true],
  ['in capital letters', `0x${RIGHT.slice(2).toUpperCase()}`, true],
  ['with a wrong digit', RIGHT.replace('0x9', '0x8'), false],
  ['with two digits exchanged', RIGHT.replace('0x90', '0x09'), false],
  ['with a letter of the other case', RIGHT.replace('D', 'd'), false],
  ['too short', RIGHT.slice(0, -1), false],
]

t.test('an address whose checksum does not fit is refused', async t => {
  const form = { amount: '1', reference: 'r', reason: 'asked for' }
  for (const [name, receiver, taken] of ADDRESSES) {
    const read = refundForm.safeParse({ ...form, receiver })
    t.equal(read.success, taken, name)
    if (read.success) t.equal(read.data.receiver, RIGHT.toLowerCase())
  }
})
