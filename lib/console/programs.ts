/**
 * What a reader pastes into a file or a shell and runs: whole programs for the SDKs and whole commands for curl, one for each
 * protocol, each of which makes one request and prints what came of it. They are data of the table of clients, and examples of the
 * reference of the models' API.
 */
import type { Protocol } from '../protocols/names.ts'
import type { Syntax } from '../../web/shared/fill.ts'
import { requestText } from '../../web/shared/literal.ts'

export interface Program {
  /** A shell or a language, and what is asked for. */
  title: string
  syntax: Syntax
  text: string
  protocols: readonly Protocol[]
  /** The text with `{request}` in the place of what is asked, for whoever asks something else. Absent: nobody can. */
  frame?: string
}

const lines = (...all: string[]): string => all.join('\n')

/** `body`: what stands in the place of `{request}`. */
function framed(title: string, syntax: Syntax, protocol: Protocol, body: object, ...all: string[]): Program {
  const frame = lines(...all)
  const text = frame.replace('{request}', () => requestText(syntax, body))
  return { title, syntax, text, protocols: [protocol], frame }
}

const js = (protocol: Protocol, body: object, ...all: string[]): Program =>
  framed(`JavaScript (.mjs) · ${protocol}`, 'js', protocol, body, ...all)

const python = (protocol: Protocol, body: object, ...all: string[]): Program =>
  framed(`Python · ${protocol}`, 'python', protocol, body, ...all)

const HELLO = [{ role: 'user', content: 'Hello!' }]
const MODEL = '{model}'

// --- Anthropic SDK

const MESSAGE = { model: MODEL, max_tokens: 1024, messages: HELLO }

export const ANTHROPIC_PROGRAMS: readonly Program[] = [
  js(
    'messages',
    MESSAGE,
    '// npm install @anthropic-ai/sdk',
    'import Anthropic from "@anthropic-ai/sdk"',
    '',
    'const client = new Anthropic({ baseURL: "{base}", apiKey: "{key}" })',
    'const message = await client.messages.create({request})',
    'for (const part of message.content) if (part.type === "text") console.log(part.text)',
  ),
  python(
    'messages',
    MESSAGE,
    '# pip install anthropic',
    'from anthropic import Anthropic',
    '',
    'client = Anthropic(base_url="{base}", api_key="{key}")',
    'message = client.messages.create({request})',
    'print("".join(part.text for part in message.content if part.type == "text"))',
  ),
]

// --- OpenAI SDK

const openAiJs = (protocol: Protocol, body: object, imports: readonly string[], ...call: string[]): Program =>
  js(
    protocol,
    body,
    '// npm install openai',
    ...imports,
    'import OpenAI from "openai"',
    '',
    'const client = new OpenAI({ baseURL: "{base}/v1", apiKey: "{key}" })',
    ...call,
  )

const openAiPython = (protocol: Protocol, body: object, imports: readonly string[], ...call: string[]): Program =>
  python(
    protocol,
    body,
    '# pip install openai',
    ...imports,
    'from openai import OpenAI',
    '',
    'client = OpenAI(base_url="{base}/v1", api_key="{key}")',
    ...call,
  )

const WRITES_FILES = ['import { writeFile } from "node:fs/promises"']
const READS_FILES = ['import { createReadStream } from "node:fs"']

const CHAT = { model: MODEL, messages: HELLO }
const TEXT = { model: MODEL, input: 'Hello!' }
const PICTURE = { model: MODEL, prompt: 'a lighthouse' }
const SPOKEN = { model: MODEL, voice: 'alloy', input: 'Hello!' }

export const OPENAI_PROGRAMS: readonly Program[] = [
  openAiJs(
    'chat',
    CHAT,
    [],
    'const completion = await client.chat.completions.create({request})',
    'console.log(completion.choices[0].message.content)',
  ),
  openAiPython(
    'chat',
    CHAT,
    [],
    'completion = client.chat.completions.create({request})',
    'print(completion.choices[0].message.content)',
  ),
  openAiJs(
    'responses',
    TEXT,
    [],
    'const response = await client.responses.create({request})',
    'console.log(response.output_text)',
  ),
  openAiPython('responses', TEXT, [], 'response = client.responses.create({request})', 'print(response.output_text)'),
  openAiJs(
    'images',
    PICTURE,
    WRITES_FILES,
    'const { data } = await client.images.generate({request})',
    'if (data[0].url) console.log(data[0].url)',
    'else await writeFile("picture.png", Buffer.from(data[0].b64_json, "base64")).then(() => console.log("picture.png"))',
  ),
  openAiPython(
    'images',
    PICTURE,
    ['import base64', 'import pathlib'],
    'picture = client.images.generate({request}).data[0]',
    'if picture.url:',
    '    print(picture.url)',
    'else:',
    '    pathlib.Path("picture.png").write_bytes(base64.b64decode(picture.b64_json))',
    '    print("picture.png")',
  ),
  openAiJs(
    'embeddings',
    TEXT,
    [],
    'const { data } = await client.embeddings.create({request})',
    'console.log(data[0].embedding.length, data[0].embedding.slice(0, 4))',
  ),
  openAiPython(
    'embeddings',
    TEXT,
    [],
    'vector = client.embeddings.create({request}).data[0].embedding',
    'print(len(vector), vector[:4])',
  ),
  openAiJs(
    'moderations',
    TEXT,
    [],
    'const { results } = await client.moderations.create({request})',
    'console.log(results[0].flagged)',
  ),
  openAiPython(
    'moderations',
    TEXT,
    [],
    'result = client.moderations.create({request}).results[0]',
    'print(result.flagged)',
  ),
  openAiJs(
    'speech',
    SPOKEN,
    WRITES_FILES,
    'const spoken = await client.audio.speech.create({request})',
    'await writeFile("speech.mp3", Buffer.from(await spoken.arrayBuffer()))',
    'console.log("speech.mp3")',
  ),
  openAiPython(
    'speech',
    SPOKEN,
    [],
    'spoken = client.audio.speech.create({request})',
    'spoken.write_to_file("speech.mp3")',
    'print("speech.mp3")',
  ),
  openAiJs(
    'transcriptions',
    {},
    READS_FILES,
    '// a recording of yours',
    'const file = createReadStream("speech.mp3")',
    'const { text } = await client.audio.transcriptions.create({ model: "{model}", file })',
    'console.log(text)',
  ),
  openAiPython(
    'transcriptions',
    {},
    [],
    '# a recording of yours',
    'with open("speech.mp3", "rb") as file:',
    '    print(client.audio.transcriptions.create(model="{model}", file=file).text)',
  ),
]

// --- Google Gen AI SDK

const googleJs = (protocol: Protocol, ...call: string[]): Program =>
  js(
    protocol,
    GOOGLE_TEXT,
    '// npm install @google/genai',
    'import { GoogleGenAI } from "@google/genai"',
    '',
    'const client = new GoogleGenAI({ apiKey: "{key}", httpOptions: { baseUrl: "{base}" } })',
    ...call,
  )

const googlePython = (protocol: Protocol, ...call: string[]): Program =>
  python(
    protocol,
    GOOGLE_TEXT,
    '# pip install google-genai',
    'from google import genai',
    '',
    'client = genai.Client(api_key="{key}", http_options={"base_url": "{base}"})',
    ...call,
  )

const GOOGLE_TEXT = { model: MODEL, contents: 'Hello!' }

export const GOOGLE_PROGRAMS: readonly Program[] = [
  googleJs('generate', 'const answer = await client.models.generateContent({request})', 'console.log(answer.text)'),
  googlePython('generate', 'answer = client.models.generate_content({request})', 'print(answer.text)'),
  googleJs(
    'embeddings',
    'const { embeddings } = await client.models.embedContent({request})',
    'console.log(embeddings[0].values.length, embeddings[0].values.slice(0, 4))',
  ),
  googlePython(
    'embeddings',
    'vector = client.models.embed_content({request}).embeddings[0].values',
    'print(len(vector), vector[:4])',
  ),
]

// --- AI SDK

const aiSdk = (protocol: Protocol, name: string, make: string, base: string, model: string): Program => ({
  title: `@ai-sdk/${name} (.mjs) · ${protocol}`,
  syntax: 'js',
  protocols: [protocol],
  text: lines(
    `// npm install ai @ai-sdk/${name}`,
    `import { ${make} } from "@ai-sdk/${name}"`,
    'import { generateText } from "ai"',
    '',
    `const provider = ${make}({ baseURL: "${base}", apiKey: "{key}" })`,
    `const { text } = await generateText({ model: ${model}, prompt: "Hello!" })`,
    'console.log(text)',
  ),
})

export const AI_SDK_PROGRAMS: readonly Program[] = [
  aiSdk('messages', 'anthropic', 'createAnthropic', '{base}/v1', 'provider("{model}")'),
  aiSdk('chat', 'openai', 'createOpenAI', '{base}/v1', 'provider.chat("{model}")'),
  aiSdk('responses', 'openai', 'createOpenAI', '{base}/v1', 'provider.responses("{model}")'),
  aiSdk('generate', 'google', 'createGoogleGenerativeAI', '{base}/v1beta', 'provider("{model}")'),
]

// --- curl

const BEARER = "-H 'authorization: Bearer {key}'"

/** `then`: what stands behind the address, such as a file for bytes that no terminal shows. */
const call = (protocol: Protocol, path: string, headers: string, body: object, then = ''): Program =>
  framed(
    protocol,
    'sh-json',
    protocol,
    body,
    `curl '{base}${path}'${then} \\`,
    `  ${headers} -H 'content-type: application/json' \\`,
    "  -d '{request}'",
  )

export const CURL_COMMANDS: readonly Program[] = [
  call('chat', '/v1/chat/completions', BEARER, CHAT),
  call('messages', '/v1/messages', "-H 'x-api-key: {key}' -H 'anthropic-version: 2023-06-01'", MESSAGE),
  call('responses', '/v1/responses', BEARER, TEXT),
  call('generate', '/v1beta/models/{step}:generateContent', "-H 'x-goog-api-key: {key}'", {
    contents: [{ parts: [{ text: 'Hello!' }] }],
  }),
  call('images', '/v1/images/generations', BEARER, PICTURE),
  call('embeddings', '/v1/embeddings', BEARER, TEXT),
  call('rerank', '/v1/rerank', BEARER, { model: MODEL, query: 'Hello!', documents: ['Good morning', 'Goodbye'] }),
  call('moderations', '/v1/moderations', BEARER, TEXT),
  call('speech', '/v1/audio/speech', BEARER, SPOKEN, ' --output speech.mp3'),
  {
    title: 'transcriptions',
    syntax: 'sh',
    protocols: ['transcriptions'],
    text: lines(
      "curl '{base}/v1/audio/transcriptions' \\",
      `  ${BEARER} \\`,
      "  -F 'file=@speech.mp3' --form-string 'model={model}'",
    ),
  },
]
