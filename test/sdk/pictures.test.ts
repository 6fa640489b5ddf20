/**
 * Pictures through a whole gateway: edits and variations as multipart forms, as the official SDK sends them, and as JSON;
 * pictures as events. What the upstream got, what the client got, and what it cost, to the micro-unit.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { PICTURE } from '../../tools/simulator/dialects/images.ts'
import { KEY, POOR_KEY, testCatalog } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'

/** Passes everything on to the simulator, and keeps what was asked. */
const asked: { url: string; type: string; length: string; body: Buffer }[] = []
let simulator = ''
const tap = http.createServer((req, res) => {
  const parts: Buffer[] = []
  req.on('data', part => parts.push(part))
  req.on('end', () => {
    const { 'content-type': type = '', 'content-length': length = '' } = req.headers
    const body = Buffer.concat(parts)
    asked.push({ url: req.url ?? '', type, length, body })
    const on = http.request(simulator + req.url, { method: 'POST', headers: { 'content-type': type } }, answer => {
      res.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(res)
      answer.on('error', () => res.destroy())
    })
    on.end(body)
  })
})
await new Promise<void>(resolve => tap.listen(0, '127.0.0.1', resolve))
t.teardown(() => tap.close())

const gateway = await openGateway({
  catalog: upstream => {
    simulator = upstream
    const catalog = testCatalog(`http://127.0.0.1:${(tap.address() as AddressInfo).port}`)
    const [channel] = catalog['channels'] as [{ models: unknown }]
    channel.models = { piece: 'piece', tokens: 'the-upstream/paints-by-token' }
    return {
      ...catalog,
      models: [
        { name: 'piece', price: { image: 0.28 } },
        { name: 'tokens', price: { input: 35, input_image: 56, output: 210 } },
      ],
    }
  },
})
t.teardown(() => gateway.stop())
const openai = new OpenAI({ baseURL: `${gateway.main}/v1`, apiKey: KEY, maxRetries: 0 })
const png = () => toFile(PICTURE, 'a cat.png', { type: 'image/png' })

let rows = 0
async function charged(): Promise<object> {
  const [row] = await gateway.usage('rich', ++rows)
  const { protocol, basis, input, output, images, end } = row as Record<string, unknown>
  return { protocol, basis, input, output, images, end, micro: Math.round(Number(row?.['charge']) * 1e6) }
}
const ROW = { protocol: 'images', basis: 'reported', end: 'completed' }

t.test('an edit by the piece: the form passes byte for byte', async t => {
  const edited = await openai.images.edit({ model: 'piece', image: await png(), prompt: 'a hat', n: 2 })
  t.equal(edited.data?.length, 2)
  t.same(await charged(), { ...ROW, input: 0, output: 0, images: 2, micro: 560_000 })
  const [request] = asked.slice(-1)
  t.match(request, { url: '/v1/images/edits', type: /^multipart\/form-data; boundary=/ })
  t.ok(request?.body.includes(PICTURE), 'the picture')
  t.match(request?.body.toString('latin1'), /filename="a cat.png"/)
})

t.test('an edit by the token: of several pictures, with a mask; only the name of the model is another one', async t => {
  const image = [await png(), await png()]
  const edited = await openai.images.edit({
    model: 'tokens',
    image,
    mask: await png(),
    prompt: 'a hat',
    response_format: 'b64_json',
  })
  t.equal(
    Buffer.from(edited.data?.[0]?.b64_json ?? '', 'base64').compare(PICTURE, 0, PICTURE.length, 0, PICTURE.length),
    0,
  )
  const input = Math.ceil('"a hat"'.length / 4)
  const micro = input * 35 + 200 * 56 + 1056 * 210
  t.same(await charged(), { ...ROW, input: input + 200, output: 1056, images: 1, micro })
  const { body, length } = asked.at(-1) as (typeof asked)[number]
  t.match(body.toString('latin1'), /name="model"\r\n\r\nthe-upstream\/paints-by-token\r\n/)
  t.equal(Number(length), body.length)
  t.equal(body.toString('latin1').split('name="image[]"').length, 3)
})

t.test('an edit as events: partial pictures cost nothing by themselves', async t => {
  const stream = await openai.images.edit({
    model: 'tokens',
    image: await png(),
    prompt: 'a hat',
    stream: true,
    partial_images: 3,
  })
  const types: string[] = []
  for await (const event of stream) types.push(event.type)
  t.same(types, [...Array(3).fill('image_edit.partial_image'), 'image_edit.completed'])
  t.same(await charged(), { ...ROW, input: 102, output: 1056, images: 1, micro: 2 * 35 + 100 * 56 + 1056 * 210 })
})

t.test('a picture as events', async t => {
  const stream = await openai.images.generate({
    model: 'tokens',
    prompt: 'a hat [[sim tokens=500]]',
    stream: true,
    partial_images: 2,
  })
  const types: string[] = []
  for await (const event of stream) types.push(event.type)
  t.same(types, ['image_generation.partial_image', 'image_generation.partial_image', 'image_generation.completed'])
  t.match(await charged(), { ...ROW, output: 500, images: 1 })
  const cut = await openai.images.generate({ model: 'piece', prompt: '[[sim cut=2]]', stream: true, partial_images: 2 })
  await t.rejects(async () => {
    for await (const _ of cut);
  })
  t.match(await charged(), { end: 'upstream_cut', basis: 'none', images: 0, micro: 0 }, 'only partial pictures came')
})

t.test('variations, and an edit as JSON', async t => {
  await openai.images.createVariation({ model: 'piece', image: await png() })
  t.match(await charged(), { ...ROW, images: 1, micro: 280_000 })
  t.equal(asked.at(-1)?.url, '/v1/images/variations')
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const body = JSON.stringify({
    model: 'tokens',
    prompt: 'a hat',
    images: [{ image_url: 'https://x/y.png' }],
    response_format: 'b64_json',
  })
  const answer = await fetch(`${gateway.main}/v1/images/edits`, { method: 'POST', headers, body })
  t.equal(answer.status, 200)
  await answer.text()
  t.match(await charged(), { ...ROW, images: 1, micro: 2 * 35 + 100 * 56 + 1056 * 210 })
  t.match(JSON.parse(asked.at(-1)?.body.toString() ?? ''), { model: 'the-upstream/paints-by-token' })
})

t.test('what is refused', async t => {
  const form = (fields: Record<string, string>) => {
    const made = new FormData()
    for (const [name, value] of Object.entries(fields)) made.append(name, value)
    made.append('image', new Blob([PICTURE]), 'x.png')
    return made
  }
  const twice = form({ model: 'piece' })
  twice.append('model', 'tokens')
  const cases: [name: string, body: FormData | string, key: string, status: number, message: RegExp, type?: string][] =
    [
      ['no model', form({ prompt: 'x' }), KEY, 400, /^未指定模型名称/],
      ['the model twice', twice, KEY, 400, /^请求体字段无效:model /],
      ['another case', form({ model: 'piece', N: '5' }), KEY, 400, /^请求体字段无效:n /],
      ['no such model', form({ model: 'nope' }), KEY, 400, /无可用渠道/],
      ['many pictures', form({ model: 'piece', n: '100000' }), KEY, 403, /^预扣费额度失败.*28000\.000000/],
      ['no money', form({ model: 'piece' }), POOR_KEY, 403, /^用户额度不足/],
      ['no boundary', 'x', KEY, 400, /^请求体字段无效:content-type /, 'multipart/form-data'],
      [
        'a form that does not end',
        '--x\r\n',
        KEY,
        400,
        /^请求体字段无效:multipart\/form-data /,
        'multipart/form-data; boundary=x',
      ],
    ]
  const before = asked.length
  for (const [name, body, key, status, message, type] of cases) {
    const headers = { authorization: `Bearer ${key}`, ...(type === undefined ? {} : { 'content-type': type }) }
    const answer = await fetch(`${gateway.main}/v1/images/edits`, { method: 'POST', headers, body })
    const { error } = (await answer.json()) as { error: { message: string } }
    t.equal(answer.status, status, name)
    t.match(error.message, message, name)
  }
  t.equal(asked.length, before, 'no upstream was asked')
})
