/** Examples of docs/upstreams.md lead to the addresses that the page names. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { compileRoutes } from '../../lib/world/table.ts'

const PAGE = readFileSync(path.join(import.meta.dirname, '../../docs/upstreams.md'), 'utf8')

/** What has a form of its own. */
const VALUES: Readonly<Record<string, string>> = {
  AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
}

/** The channels of a section's examples, by name, with the URL of each protocol. */
function addresses(section: string) {
  const text = PAGE.split(`### ${section}\n`)[1]?.split('\n### ')[0] ?? ''
  const examples = text.split('```yaml\n').slice(1)
  const yaml = `channels:\n${examples.map(one => one.split('```')[0]?.replace('channels:\n', '')).join('')}`
  const env = Object.fromEntries(
    [...yaml.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [name as string, VALUES[name as string] ?? 'key-1']),
  )
  const { channels } = parseCatalog(yaml, 'upstreams.yaml', env)
  const named = compileRoutes({ channels }).channels.map(channel => [
    channel.name,
    Object.fromEntries(channel.protocols.map(one => [one, channel.connection.origin + channel.paths[one]])),
  ])
  return { text, urls: Object.fromEntries(named) as Record<string, Record<string, string>> }
}

t.test('coding plans', async t => {
  const { text, urls } = addresses('Coding plans')
  const rows = [...text.matchAll(/^\| .* \| `(https:.+?)` \| `(https:.+?)` \|$/gm)]
  t.same(
    Object.values(urls),
    rows.map(([, messages, chat]) => ({ messages, chat })),
  )
  t.same(Object.keys(urls), ['ark-plan', 'glm-plan', 'kimi-plan'])
})

t.test('servers of your own', async t => {
  const at = 'http://127.0.0.1:11434/v1'
  t.same(addresses('Servers of your own').urls, {
    ollama: { messages: `${at}/messages`, chat: `${at}/chat/completions`, responses: `${at}/responses` },
  })
})

t.test('Azure, with and without keys', async t => {
  const resource = 'https://my-resource.openai.azure.com/openai/v1'
  const ofOpenAi = { chat: `${resource}/chat/completions`, responses: `${resource}/responses` }
  t.same(addresses('Azure').urls, {
    azure: ofOpenAi,
    'azure-without-keys': ofOpenAi,
    'claude-in-foundry': { messages: 'https://my-resource.services.ai.azure.com/anthropic/v1/messages' },
  })
})

t.test('Amazon Bedrock', async t => {
  const { urls } = addresses('Amazon Bedrock')
  t.equal(urls['nova-on-bedrock']?.['converse'], 'https://bedrock-runtime.us-east-1.amazonaws.com/model/{model}/{verb}')
})
