/** Names that people choose hold no character that is not seen, or turns the direction of a line, whatever they are names of. */
import t from 'tap'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { newKeyForm } from '../../lib/operations/accounts/own-keys.ts'
import { acceptForm, registerForm } from '../../lib/operations/people/joining.ts'
import { profileForm, tokenForm } from '../../lib/operations/people/me.ts'

const CONTROLS = [...'\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069']
/** Zero-width ones, fillers, blanks, ends of lines, variants and tags: a name with one looks like the same name without. */
const UNSEEN = [
  ...'\u00ad\u034f\u115f\u180e\u200b\u200c\u200d\u2028\u2029\u2060\u2064\u2800\u3164\ufe00\ufe0f\ufeff\uffa0\u{e0061}\u{e0100}',
]
/** Pictures that are joined, a key, letters that would join and shall not, and a virama. */
const SEEN = ['👩‍👩‍👧 family', '❤️‍🔥', '1️⃣', 'می\u200cخواهم', 'क्\u200dष', 'مَ\u200cها', '🏳️‍🌈', 'naïve 名']
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
    for (const name of SEEN) t.ok(read(name), name)
    for (const control of [...CONTROLS, ...UNSEEN])
      t.throws(() => read(`turned${control}round`), `U+${control.codePointAt(0)?.toString(16)} is refused`)
    // an accent is a mark that letters of every script may have
    for (const unseen of '\u200c\u200d\ufe0e\ufe0f')
      for (const letter of ['e\u0301', 'x\u0302', '1\ufe0f\u20e3'])
        t.throws(
          () => read(`${letter}${unseen}y`),
          `U+${unseen.codePointAt(0)?.toString(16)} behind ${letter} is refused`,
        )
  })

t.test('a name that is typed in two forms of Unicode is one name', async t => {
  t.same(profileForm.parse({ name: 'Ame\u0301lie' }), profileForm.parse({ name: 'Am\u00e9lie' }))
})

t.test('the name of a model is an exact string, in the form of Unicode in which it is written', async t => {
  for (const name of ['Ame\u0301lie', 'Am\u00e9lie']) {
    const { models, channels } = parseCatalog(
      JSON.stringify({
        models: [{ name }],
        channels: [
          { name: 'c', base_url: 'http://u', protocols: ['chat'], groups: ['default'], models: [name], key: 'k' },
        ],
      }),
      'c.yaml',
      {},
    )
    t.equal(models[0]?.name, name)
    t.match(JSON.stringify(channels[0]), JSON.stringify(name))
  }
})

t.test('the length of a name is that of the form in which it is kept', async t => {
  const pairs = '\u0958'.repeat(100) // two characters each in that form
  t.throws(() => profileForm.parse({ name: pairs }))
  t.same(profileForm.parse({ name: 'e\u0301'.repeat(190) }).name, '\u00e9'.repeat(190))
})
