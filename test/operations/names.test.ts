/** Names that people choose hold no character that turns the direction of a line, whatever they are names of. */
import t from 'tap'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { newKeyForm } from '../../lib/operations/accounts/own-keys.ts'
import { acceptForm, registerForm } from '../../lib/operations/people/joining.ts'
import { profileForm, tokenForm } from '../../lib/operations/people/me.ts'

const CONTROLS = [...'\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069']
const token = { scope: 'read', expires_at: '2030-01-01T00:00:00Z' }

/** Each throws where it refuses the name. */
const ROWS: [what: string, read: (name: string) => unknown][] = [
  ['a group', name => parseCatalog(JSON.stringify({ groups: [{ name }] }), 'c.yaml', {})],
  ['an account', name => parseCatalog(JSON.stringify({ accounts: [{ name }] }), 'c.yaml', {})],
  ['a key', name => newKeyForm.parse({ name, group: 'default' })],
  ['a person who registers', name => registerForm.parse({ token: 'x', name, password: 'long and winding road' })],
  ['a person who is invited', name => acceptForm.parse({ token: 'x', name })],
  ['a person', name => profileForm.parse({ name })],
  ['a token', name => tokenForm.parse({ ...token, name })],
]

for (const [what, read] of ROWS)
  t.test(`the name of ${what}`, async t => {
    t.ok(read('名称 שם اسم name'), 'letters of every direction are in order')
    for (const control of CONTROLS)
      t.throws(() => read(`turned ${control} round`), `U+${control.codePointAt(0)?.toString(16)} is refused`)
  })
