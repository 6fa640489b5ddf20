/**
 * The script of the console, which runs in the browser: it changes the language, fills in the snippets and checks a
 * key. The key is only in its input field and in the header of one request. It is stored nowhere, and the form has no
 * action that could put it into an address.
 */
export const SCRIPT = `
'use strict'
const $ = id => document.getElementById(id)
let english = !/^zh\\b/i.test(navigator.language || 'zh')
const say = (chinese, other) => (english ? other : chinese)

function speak() {
  document.documentElement.lang = english ? 'en' : 'zh-CN'
  for (const node of document.querySelectorAll('[data-en]')) {
    node.dataset.zh ??= node.textContent
    node.textContent = english ? node.dataset.en : node.dataset.zh
  }
  document.title = $('title').textContent
}

function fill() {
  const base = document.querySelector('input[name=address]:checked').value
  for (const node of document.querySelectorAll('[data-text]')) {
    node.textContent = node.dataset.text.replaceAll('{base}', base).replaceAll('{key}', 'sk-…')
  }
}

async function copy(button) {
  const code = button.parentElement.querySelector('code')
  try {
    await navigator.clipboard.writeText(code.textContent)
  } catch { // only pages from a secure address may write: the reader copies what is selected
    getSelection().selectAllChildren(code)
    $('said').textContent = say('已选中,请按复制快捷键', 'Selected: press the copy shortcut')
    return
  }
  $('said').textContent = say('已复制', 'Copied')
}

function show(kind, text, models) {
  $('verdict').className = kind
  $('verdict').textContent = text
  $('models').replaceChildren(...models.map(model => {
    const item = document.createElement('li')
    item.append(document.createElement('code'))
    item.firstChild.textContent = String(model.id)
    return item
  }))
}

async function ask(key) {
  const response = await fetch('/v1/models?limit=1000', {
    headers: { authorization: 'Bearer ' + key, 'accept-language': english ? 'en' : 'zh-CN' },
    cache: 'no-store', credentials: 'omit', redirect: 'error', signal: AbortSignal.timeout(15000),
  })
  const answer = await response.json().catch(() => null)
  if (response.ok && Array.isArray(answer?.data)) return answer.data
  throw new Error(response.status + ' ' + (answer?.error?.message ?? response.statusText))
}

async function check(event) {
  event.preventDefault()
  const key = $('key').value.trim()
  if (!/^[!-~]+$/.test(key)) {
    show('bad', say('请填写完整的密钥,不含空格和换行', 'Enter the whole key, without spaces and line breaks'), [])
    return
  }
  $('check').disabled = true
  show('soft', say('正在检查…', 'Checking…'), [])
  try {
    const models = await ask(key)
    show('good', say('密钥有效,可用模型 ' + models.length + ' 个', 'The key works. Models: ' + models.length), models)
  } catch (error) {
    show('bad', error.message, [])
  }
  $('check').disabled = false
}

$('language').addEventListener('click', () => { english = !english; speak() })
$('form').addEventListener('submit', check)
for (const input of document.querySelectorAll('input[name=address]')) input.addEventListener('change', fill)
for (const button of document.querySelectorAll('.snippet button')) button.addEventListener('click', () => copy(button))
for (const node of document.querySelectorAll('[hidden]')) node.hidden = false
speak()
fill()
`
