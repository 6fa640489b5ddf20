/**
 * What a reader pastes into a file or a shell and runs: whole programs for the SDKs and whole commands for curl, one for each
 * protocol, each of which makes one request and prints what came of it. They are data of the table of clients, and examples of the
 * reference of the models' API.
 */
import type { Protocol } from '../terms/records.ts'
import type { Syntax } from '../../web/shared/fill.ts'

interface Program {
  /** A shell or a language, and what is asked for. */
  title: string
  syntax: Syntax
  text: string
  protocols: readonly Protocol[]
}

const lines = (...all: string[]): string => all.join('\n')

const program = (syntax: 'js' | 'python', title: string, protocol: Protocol, ...all: string[]): Program => ({
  title: `${syntax === 'js' ? 'JavaScript (.mjs)' : 'Python'} · ${title}`,
  syntax,
  text: lines(...all),
  protocols: [protocol],
})

// --- Anthropic SDK

export const ANTHROPIC_PROGRAMS: readonly Program[] = [
  program(
    'js',
    'messages',
    'messages',
    '// npm install @anthropic-ai/sdk',
    'import Anthropic from "@anthropic-ai/sdk"',
    '',
    'const client = new Anthropic({ baseURL: "{base}", apiKey: "{key}" })',
    'const message = await client.messages.create({',
    '  model: "{model}",',
    '  max_tokens: 1024,',
    '  messages: [{ role: "user", content: "Hello!" }],',
    '})',
    'for (const part of message.content) if (part.type === "text") console.log(part.text)',
  ),
  program(
    'python',
    'messages',
    'messages',
    '# pip install anthropic',
    'from anthropic import Anthropic',
    '',
    'client = Anthropic(base_url="{base}", api_key="{key}")',
    'message = client.messages.create(',
    '    model="{model}",',
    '    max_tokens=1024,',
    '    messages=[{"role": "user", "content": "Hello!"}],',
    ')',
    'print("".join(part.text for part in message.content if part.type == "text"))',
  ),
]

// --- OpenAI SDK

const openAiJs = (protocol: Protocol, imports: readonly string[], ...call: string[]): Program =>
  program(
    'js',
    protocol,
    protocol,
    '// npm install openai',
    ...imports,
    'import OpenAI from "openai"',
    '',
    'const client = new OpenAI({ baseURL: "{base}/v1", apiKey: "{key}" })',
    ...call,
  )

const openAiPython = (protocol: Protocol, imports: readonly string[], ...call: string[]): Program =>
  program(
    'python',
    protocol,
    protocol,
    '# pip install openai',
    ...imports,
    'from openai import OpenAI',
    '',
    'client = OpenAI(base_url="{base}/v1", api_key="{key}")',
    ...call,
  )

const WRITES_FILES = ['import { writeFile } from "node:fs/promises"']
const READS_FILES = ['import { createReadStream } from "node:fs"']

export const OPENAI_PROGRAMS: readonly Program[] = [
  openAiJs(
    'chat',
    [],
    'const completion = await client.chat.completions.create({',
    '  model: "{model}",',
    '  messages: [{ role: "user", content: "Hello!" }],',
    '})',
    'console.log(completion.choices[0].message.content)',
  ),
  openAiPython(
    'chat',
    [],
    'completion = client.chat.completions.create(',
    '    model="{model}",',
    '    messages=[{"role": "user", "content": "Hello!"}],',
    ')',
    'print(completion.choices[0].message.content)',
  ),
  openAiJs(
    'responses',
    [],
    'const response = await client.responses.create({ model: "{model}", input: "Hello!" })',
    'console.log(response.output_text)',
  ),
  openAiPython(
    'responses',
    [],
    'response = client.responses.create(model="{model}", input="Hello!")',
    'print(response.output_text)',
  ),
  openAiJs(
    'images',
    WRITES_FILES,
    'const { data } = await client.images.generate({ model: "{model}", prompt: "a lighthouse" })',
    'if (data[0].url) console.log(data[0].url)',
    'else await writeFile("picture.png", Buffer.from(data[0].b64_json, "base64")).then(() => console.log("picture.png"))',
  ),
  openAiPython(
    'images',
    ['import base64', 'import pathlib'],
    'picture = client.images.generate(model="{model}", prompt="a lighthouse").data[0]',
    'if picture.url:',
    '    print(picture.url)',
    'else:',
    '    pathlib.Path("picture.png").write_bytes(base64.b64decode(picture.b64_json))',
    '    print("picture.png")',
  ),
  openAiJs(
    'embeddings',
    [],
    'const { data } = await client.embeddings.create({ model: "{model}", input: "Hello!" })',
    'console.log(data[0].embedding.length, data[0].embedding.slice(0, 4))',
  ),
  openAiPython(
    'embeddings',
    [],
    'vector = client.embeddings.create(model="{model}", input="Hello!").data[0].embedding',
    'print(len(vector), vector[:4])',
  ),
  openAiJs(
    'moderations',
    [],
    'const { results } = await client.moderations.create({ model: "{model}", input: "Hello!" })',
    'console.log(results[0].flagged)',
  ),
  openAiPython(
    'moderations',
    [],
    'result = client.moderations.create(model="{model}", input="Hello!").results[0]',
    'print(result.flagged)',
  ),
  openAiJs(
    'speech',
    WRITES_FILES,
    'const spoken = await client.audio.speech.create({ model: "{model}", voice: "alloy", input: "Hello!" })',
    'await writeFile("speech.mp3", Buffer.from(await spoken.arrayBuffer()))',
    'console.log("speech.mp3")',
  ),
  openAiPython(
    'speech',
    [],
    'spoken = client.audio.speech.create(model="{model}", voice="alloy", input="Hello!")',
    'spoken.write_to_file("speech.mp3")',
    'print("speech.mp3")',
  ),
  openAiJs(
    'transcriptions',
    READS_FILES,
    '// a recording of yours',
    'const file = createReadStream("speech.mp3")',
    'const { text } = await client.audio.transcriptions.create({ model: "{model}", file })',
    'console.log(text)',
  ),
  openAiPython(
    'transcriptions',
    [],
    '# a recording of yours',
    'with open("speech.mp3", "rb") as file:',
    '    print(client.audio.transcriptions.create(model="{model}", file=file).text)',
  ),
]

// --- Google Gen AI SDK

const googleJs = (protocol: Protocol, ...call: string[]): Program =>
  program(
    'js',
    protocol,
    protocol,
    '// npm install @google/genai',
    'import { GoogleGenAI } from "@google/genai"',
    '',
    'const client = new GoogleGenAI({ apiKey: "{key}", httpOptions: { baseUrl: "{base}" } })',
    ...call,
  )

const googlePython = (protocol: Protocol, ...call: string[]): Program =>
  program(
    'python',
    protocol,
    protocol,
    '# pip install google-genai',
    'from google import genai',
    '',
    'client = genai.Client(api_key="{key}", http_options={"base_url": "{base}"})',
    ...call,
  )

export const GOOGLE_PROGRAMS: readonly Program[] = [
  googleJs(
    'generate',
    'const answer = await client.models.generateContent({ model: "{model}", contents: "Hello!" })',
    'console.log(answer.text)',
  ),
  googlePython(
    'generate',
    'answer = client.models.generate_content(model="{model}", contents="Hello!")',
    'print(answer.text)',
  ),
  googleJs(
    'embeddings',
    'const { embeddings } = await client.models.embedContent({ model: "{model}", contents: "Hello!" })',
    'console.log(embeddings[0].values.length, embeddings[0].values.slice(0, 4))',
  ),
  googlePython(
    'embeddings',
    'vector = client.models.embed_content(model="{model}", contents="Hello!").embeddings[0].values',
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
const HELLO = [{ role: 'user', content: 'Hello!' }]

/** `then`: what stands behind the address, such as a file for bytes that no terminal shows. */
const call = (protocol: Protocol, path: string, headers: string, body: object, then = ''): Program => ({
  title: protocol,
  syntax: 'sh-json',
  protocols: [protocol],
  text: lines(
    `curl '{base}${path}'${then} \\`,
    `  ${headers} -H 'content-type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ),
})

export const CURL_COMMANDS: readonly Program[] = [
  call('chat', '/v1/chat/completions', BEARER, { model: '{model}', messages: HELLO }),
  call('messages', '/v1/messages', "-H 'x-api-key: {key}' -H 'anthropic-version: 2023-06-01'", {
    model: '{model}',
    max_tokens: 1024,
    messages: HELLO,
  }),
  call('responses', '/v1/responses', BEARER, { model: '{model}', input: 'Hello!' }),
  call('generate', '/v1beta/models/{step}:generateContent', "-H 'x-goog-api-key: {key}'", {
    contents: [{ parts: [{ text: 'Hello!' }] }],
  }),
  call('images', '/v1/images/generations', BEARER, { model: '{model}', prompt: 'a lighthouse' }),
  call('embeddings', '/v1/embeddings', BEARER, { model: '{model}', input: 'Hello!' }),
  call('rerank', '/v1/rerank', BEARER, { model: '{model}', query: 'Hello!', documents: ['Good morning', 'Goodbye'] }),
  call('moderations', '/v1/moderations', BEARER, { model: '{model}', input: 'Hello!' }),
  call(
    'speech',
    '/v1/audio/speech',
    BEARER,
    { model: '{model}', voice: 'alloy', input: 'Hello!' },
    ' --output speech.mp3',
  ),
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
