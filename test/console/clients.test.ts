/**
 * The table of clients: each file is read by its language, each environment by its shell, each SDK and each curl line makes a
 * request to a gateway. Keys and models with quotes and spaces stay what they are.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { generateText } from 'ai'
import OpenAI from 'openai'
import t from 'tap'
import { fill, type Syntax, type Values } from '../../web/shared/fill.ts'
import { CLIENTS } from '../../lib/console/clients.ts'
import { PROTOCOLS } from '../../lib/terms/records.ts'
import { KEY, startGateway } from '../support/gateway.ts'

const AWKWARD: Values = {
  base: 'https://api.example',
  key: `sk-it's"100%$HOME`,
  model: `o'dd "model" \\ %x`,
  name: '网关 "one"',
}
const MODELS: Record<string, string> = {
  messages: 'alpha-sonnet-5-5',
  generate: 'gamma-3.8-flash',
  images: 'gamma-image-2',
}
const EXTRA = { name: 'embedder', price: { input: 1 } }
const modelOf = (protocol: string): string => MODELS[protocol] ?? (protocol === 'embeddings' ? EXTRA.name : 'beta-4.7')

const snippetsOf = (syntax: Syntax) =>
  CLIENTS.flatMap(({ id, snippets }) => snippets.filter(one => one.syntax === syntax).map(one => ({ id, ...one })))
const one = (id: string, title: string) =>
  CLIENTS.find(row => row.id === id)!.snippets.find(snippet => snippet.title === title)!

/** Runs a program that a machine may lack; null = it does. The simulator of a gateway lives in this process meanwhile. */
async function run(command: string, args: string[], input = ''): Promise<string | null> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const [out, err] = [text(child.stdout), text(child.stderr)]
  child.stdin.on('error', () => {}).end(input)
  try {
    const [status] = (await once(child, 'close')) as [number]
    if (status !== 0) throw new Error(`${command}: ${await err}`)
    return await out
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

t.test('rows', async t => {
  t.equal(new Set(CLIENTS.map(({ id }) => id)).size, CLIENTS.length)
  for (const { id, address, protocols, snippets, links, notes } of CLIENTS) {
    t.match(address, /^\{base\}(\/v1)?$/, id)
    t.ok(protocols.length > 0 && protocols.every(protocol => PROTOCOLS.includes(protocol)), id)
    t.ok(snippets.length > 0 && new Set(snippets.map(({ title }) => title)).size === snippets.length, id)
    for (const { title, text } of snippets)
      t.same(
        [...text.matchAll(/\{(\w+)\}/g)].filter(([, name]) => !(name! in AWKWARD)),
        [],
        `${id} ${title}`,
      )
    for (const { link, data } of links) {
      const filled = fill(link.replace('{data}', ''), 'url', AWKWARD)
      t.equal(new URL(filled).href.includes("'"), false, `${id} ${link}`)
      const given = new URL(filled).searchParams
      if (data === undefined) t.same([given.get('apiKey'), given.get('model')], [AWKWARD.key, AWKWARD.model], id)
    }
    for (const note of notes) t.ok(/\p{Script=Han}/u.test(note.zh) && !/\p{Script=Han}/u.test(note.en), id)
  }
})

t.test('files are read by their languages', async t => {
  for (const { id, title, text } of snippetsOf('json')) {
    const filled = fill(text, 'json', AWKWARD)
    const said = JSON.stringify(JSON.parse(filled))
    for (const name of ['key', 'model', 'base'] as const)
      if (text.includes(`{${name}}`))
        t.ok(said.includes(JSON.stringify(AWKWARD[name]).slice(1, -1)), `${id} ${title} ${name}`)
  }
  const toml = fill(one('codex', '~/.codex/config.toml').text, 'toml', AWKWARD)
  const read = await run(
    'python3',
    ['-c', 'import sys, json, tomllib; print(json.dumps(tomllib.loads(sys.stdin.read())))'],
    toml,
  )
  if (read === null) t.pass('python3 is not on this machine: TOML was not read')
  else
    t.match(JSON.parse(read), {
      model: AWKWARD.model,
      model_provider: 'gateway',
      model_providers: { gateway: { name: AWKWARD.name, base_url: 'https://api.example/v1', wire_api: 'responses' } },
    })
  const python = snippetsOf('python')
    .map(({ text }) => fill(text, 'python', AWKWARD))
    .join('\n')
  const parsed = await run('python3', ['-c', 'import sys, ast; print(ast.dump(ast.parse(sys.stdin.read())))'], python)
  if (parsed === null) t.pass('python3 is not on this machine: Python was not read')
  else t.equal(parsed.match(/\b(api_key)\b/g)?.length, 3)
})

/** What a snippet of a Bourne shell puts into the environment. */
async function environment(lines: string, values: Values): Promise<Record<string, string>> {
  const exports = lines.split('\n').filter(line => line.startsWith('export '))
  const printed =
    (await run('env', ['-i', '/bin/sh', '-c', `${fill(exports.join('\n'), 'sh', values)}\n/usr/bin/env -0`])) ?? ''
  return Object.fromEntries(
    printed
      .split('\0')
      .flatMap(line =>
        line.includes('=') ? [[line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]] : [],
      ),
  )
}

t.test('shells put exactly the values into the environment', async t => {
  for (const { id, title, text } of snippetsOf('sh')) {
    const names = [...text.matchAll(/^export (\w+)='\{(base|key|model)\}(\/v1)?'/gm)]
    const found = await environment(text, AWKWARD)
    for (const [, name, value, suffix = ''] of names)
      t.equal(found[name!], AWKWARD[value as keyof Values] + suffix, `${id} ${title} ${name}`)
  }
  // neither of these shells is here, so the rules of their quotes are applied by hand
  for (const { id, text } of snippetsOf('powershell'))
    for (const line of fill(text, 'powershell', AWKWARD).split('\n'))
      t.match(line, /^(\$env:\w+ = |gemini -m )'([^']|'')*'$/, id)
  for (const { id, text } of snippetsOf('cmd'))
    for (const line of fill(text, 'cmd', AWKWARD).split('\n')) t.match(line, /^(set "\w+=|gemini -m ")[^"]*"$/, id)
})

t.test('against a gateway', async t => {
  const gateway = await startGateway({
    catalog: upstream => {
      const price = { input: 2, output: 8 }
      const priced = ['alpha-sonnet-5-5', 'beta-4.7', 'gamma-3.8-flash'].map(name => ({ name, price }))
      const models = [...priced, { name: 'gamma-image-2', price: { image: 0.28 } }, EXTRA]
      const channel = {
        name: 'sim',
        base_url: upstream,
        key: 'up',
        groups: ['default'],
        models: models.map(({ name }) => name),
      }
      return {
        groups: [{ name: 'default', public: true, rate: { requests: 0, minutes: 1 } }],
        models,
        channels: [{ ...channel, protocols: ['messages', 'chat', 'responses', 'images', 'generate', 'embeddings'] }],
        accounts: [{ name: 'rich', groups: ['default'], balance: 1000 }],
        keys: [{ account: 'rich', name: 'k', secret: KEY, group: 'default' }],
      }
    },
  })
  t.teardown(() => gateway.stop())
  const values = (protocol: string): Values => ({
    base: gateway.main,
    key: KEY,
    model: modelOf(protocol),
    name: 'Gateway',
  })
  /** Runs a line of JavaScript, with what it needs, and returns the constant that it makes. */
  const made = <T>(id: string, title: string, scope: Record<string, unknown>): T => {
    const text = fill(one(id, title).text, 'js', values('chat'))
    const name = /^const (\w+) = /.exec(text)![1]
    return new Function(...Object.keys(scope), `${text}; return ${name}`)(...Object.values(scope)) as T
  }
  const asAnthropic = (client: Anthropic) =>
    client.messages.create({ model: modelOf('messages'), max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] })
  const asOpenAI = (client: OpenAI) =>
    client.chat.completions.create({ model: modelOf('chat'), messages: [{ role: 'user', content: 'hi' }] })
  const asGoogle = (client: GoogleGenAI) =>
    client.models.generateContent({ model: modelOf('generate'), contents: 'hi' })

  t.ok((await asAnthropic(made<Anthropic>('anthropic-sdk', 'JavaScript', { Anthropic }))).usage.output_tokens > 0)
  t.ok((await asOpenAI(made<OpenAI>('openai-sdk', 'JavaScript', { OpenAI }))).choices.length > 0)
  t.ok((await asGoogle(made<GoogleGenAI>('google-sdk', 'JavaScript', { GoogleGenAI }))).text)
  const said = async (model: Parameters<typeof generateText>[0]['model']) =>
    (await generateText({ model, prompt: 'hi' })).text
  const [anthropic, openai, google] = [
    made<ReturnType<typeof createAnthropic>>('ai-sdk', '@ai-sdk/anthropic', { createAnthropic }),
    made<ReturnType<typeof createOpenAI>>('ai-sdk', '@ai-sdk/openai', { createOpenAI }),
    made<ReturnType<typeof createGoogleGenerativeAI>>('ai-sdk', '@ai-sdk/google', { createGoogleGenerativeAI }),
  ]
  t.ok(await said(anthropic(modelOf('messages'))))
  t.ok(await said(openai.chat(modelOf('chat'))))
  t.ok(await said(google(modelOf('generate'))))

  await t.test('SDKs that read their environment', async t => {
    const env = process.env
    t.teardown(() => {
      process.env = env
    })
    const asks = {
      'anthropic-sdk': () => asAnthropic(new Anthropic()),
      'openai-sdk': () => asOpenAI(new OpenAI()),
      'google-sdk': () => asGoogle(new GoogleGenAI({ apiKey: process.env['GEMINI_API_KEY'] as string })),
    }
    for (const [id, ask] of Object.entries(asks)) {
      process.env = { ...env, ...(await environment(one(id, 'macOS · Linux').text, values('chat'))) }
      t.ok(await ask(), id)
    }
  })

  await t.test('curl', async t => {
    for (const { title, text } of CLIENTS.find(({ id }) => id === 'curl')!.snippets) {
      const answer = await run('sh', [
        '-c',
        fill(text, 'sh-json', values(title)).replace('curl ', 'curl -sS --fail-with-body '),
      ])
      if (answer === null) return t.pass('there is no shell on this machine')
      t.ok(Object.keys(JSON.parse(answer) as object).length > 0, title)
    }
  })
})
