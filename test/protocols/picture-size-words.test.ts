/**
 * Some upstreams read the width and the height of a picture and pass over its size. A request that named a small size and large
 * sides was held and charged for the small picture.
 */
// The bug behind these rows: a size that upstreams pass over.
import t from 'tap'
import { protocolRow } from '../../lib/protocols/table.ts'
import { UNSAID } from '../../lib/protocols/words/usage.ts'

const SIZE = { size: '512x512', quality: null }
const ANY = { size: 'auto', quality: null }

const BODIES: [object, object][] = [
  [{}, UNSAID],
  [{ size: '512x512' }, SIZE],
  [{ size: '512x512', width: null, height: null }, SIZE],
  [{ size: '512x512', width: 2048, height: 2048 }, ANY],
  [{ width: 2048, size: '512x512' }, ANY],
  [{ size: '512x512', height: '2048' }, ANY],
  [{ width: '512', height: '512' }, ANY],
  [
    { size: '512x512', width: 2048, quality: 'low' },
    { ...ANY, quality: 'low' },
  ],
]

const FORM = 'multipart/form-data; boundary=b'
const formOf = (body: object): string =>
  Object.entries(body)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
    .join('')

for (const [body, picture] of BODIES)
  t.test(JSON.stringify(body), async t => {
    for (const [type, text] of [
      ['application/json', JSON.stringify({ model: 'm', ...body })],
      [FORM, `${formOf({ model: 'm', ...body })}--b--\r\n`],
    ]) {
      const scan = protocolRow('images').body.scan(type)
      scan.feed(Buffer.from(text as string))
      t.match(scan.end(), { picture, invalid: null }, type as string)
    }
  })
