"""Numbers, dates, amounts and abbreviations in words."""

import pytest

from atenta.phonemization.spelled_out import spell_out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("São 12 horas", "São doze horas"),
        ("16", "dezesseis"),
        ("2.024", "dois mil e vinte e quatro"),
        ("1.999", "mil novecentos e noventa e nove"),
        ("23ª", "vigésima terceira"),
        ("1.234 casas", "mil duzentas e trinta e quatro casas"),
        ("R$ 10", "dez reais"),
        ("R$ 1,50.", "um real e cinquenta centavos."),
        ("R$ 0,25", "vinte e cinco centavos"),
        ("R$ 1.000.000", "um milhão de reais"),
        ("R$ 2 milhões", "dois milhões de reais"),
        ("US$ 2,5 mil", "dois vírgula cinco mil dólares"),
        ("R$ 1 mil", "mil reais"),
        ("(-R$ 10)", "(menos dez reais)"),
        ("de 8-10 a Covid-19", "de oito - dez a Covid- dezenove"),
        ("0º", "zero º"),
        ("na 2ª-feira", "na segunda-feira"),
        ("5 €", "cinco euros"),
        ("€ 1", "um euro"),
        ("em 12/05/2024, às", "em doze de maio de dois mil e vinte e quatro, às"),
        ("1/2/2024", "primeiro de fevereiro de dois mil e vinte e quatro"),
        ("dia 25/12, até 1/5, dia 30/13", "dia vinte e cinco de dezembro, até primeiro de maio, dia trinta/treze"),
        ("CPF 123.456.789-00", "cê pê efe um dois três quatro cinco seis sete oito nove zero zero"),
        ("01310-100", "zero um três um zero um zero zero"),
        ("1 mil e 2,3 bi de pessoas", "mil e dois vírgula três bilhões de pessoas"),
        ("R. XV, apto. 31", "rua quinze, apartamento trinta e um"),
        ("na R. das Flores; J. R. da Silva", "na rua das Flores; jota. erre. da Silva"),
        ("3456-7890, 2019-2020", "três quatro cinco seis sete oito nove zero, dois mil e dezenove - dois mil e vinte"),
        ("0800 123 4567", "zero oito zero zero um dois três quatro cinco seis sete"),
        ("RG 12.345.678-9", "erre gê um dois três quatro cinco seis sete oito nove"),
        ("15/08/24, em 25/12", "quinze de agosto de vinte e quatro, em vinte e cinco de dezembro"),
        ("1/2 xícara, ½ quilo, 3/4 do bolo", "meia xícara, meio quilo, três quartos do bolo"),
        ("3x0, foto 10x15, 2 x 3", "três a zero, foto dez por quinze, duas vezes três"),
        ("12 km/l, 30 m2, 2 ha", "doze quilômetros por litro, trinta metros quadrados, dois hectares"),
        ("obg, Cia., a.C.", "obrigado, companhia, antes de cristo."),
        ("às 14h30", "às catorze horas e trinta"),
        ("às 14h30min", "às catorze horas e trinta"),
        ("às 2:05", "às duas horas e cinco"),
        ("à 1h", "à uma hora"),
        ("às 8:00h, às 8:30 h", "às oito horas, às oito horas e trinta"),
        ("10:30:15, 1:00:01", "dez horas trinta minutos e quinze segundos, uma hora e um segundo"),
        ("R$ -5, U$ 10", "menos cinco reais, dez dólares"),
        ("o 10o. lugar, a 2a vez, em 3o. Depois", "o décimo lugar, a segunda vez, em terceiro. Depois"),
        ("No. 15, no km 42, 5 km", "número quinze, no quilômetro quarenta e dois, cinco quilômetros"),
        (
            "150 kWh, 2 t, 10 s, anos 80s",
            "cento e cinquenta quilowatts-hora, duas toneladas, dez segundos, anos oitenta s",
        ),
        ("Pedro I, João VI", "Pedro primeiro, João sexto"),
        ("Maria I e Pio X na II Guerra Mundial", "Maria primeira e Pio décimo na segunda Guerra Mundial"),
        ("10 mg, 5 GHz, 3 dB", "dez miligramas, cinco gigahertz, três decibéis"),
        ("1m80, a R$ 5,00/kg ou R$ 9/hora", "um metro e oitenta, a cinco reais por quilo ou nove reais por hora"),
        ("$50, 5 £, R$ 3", "cinquenta dólares, cinco libras, três reais"),
        ("1 ½ copo, 2½ horas", "um e meio copo, duas e meia horas"),
        ("R$ 1,5 mi e 0,5 bi de pessoas", "um vírgula cinco milhão de reais e zero vírgula cinco bilhão de pessoas"),
        (
            "2 TB da CIA., a 12 km/L e 200 kcal",
            "dois tê bê da CIA., a doze quilômetros por litro e duzentas quilocalorias",
        ),
        ("0h, 0 °C e 1,5 km", "zero hora, zero grau e um vírgula cinco quilômetro"),
        ("em 12/03/05", "em doze de março de dois mil e cinco"),
        ("Elizabeth II, fase IV", "Elizabeth segunda, fase quatro"),
        ("mt bom o Pe. de Cuiabá, MT, a pe.", "muito bom o padre de Cuiabá, eme tê, a pe."),
        ("12/dez e 3/turma", "doze/dez e três/turma"),
        ("letra z, plano s, psiu, P2P", "letra zê, plano ésse, psiu, pê dois pê"),
        ("ap. 12, CO2, H1N1", "apartamento doze, cê ó dois, agá um ene um"),
        ("5%-10%", "cinco por cento - dez por cento"),
        ("10 000,00 € e R$ 10 000", "dez mil euros e dez mil reais"),
        ("1 234,50 €, R$ 10mil", "mil duzentos e trinta e quatro euros e cinquenta cêntimos, dez mil reais"),
        ("PT-SP, em Santos-SP", "pê tê - ésse pê, em Santos- ésse pê"),
        ("a BR-101, o G-20 e a B-52", "a bê erre- cento e um, o gê- vinte e a bê- cinquenta e dois"),
        ("às 8:00hs, 20:00 hs e 8hrs", "às oito horas, vinte horas e oito horas"),
        ("as BRs, CPIs e a rádio AM", "as bê erres, cê pê is e a rádio á eme"),
        ("10 mil € e US$ 2 tri", "dez mil euros e dois trilhões de dólares"),
        ("2x no 5G, 1x a 60 W", "duas vezes no cinco gê, uma vez a sessenta watts"),
        ("Horário:18:30", "Horário:dezoito horas e trinta"),
        ("NO SÉCULO QUE VI, XX", "NO SÉCULO QUE VI, vinte"),
        ("p.ex. EU VI D. JOÃO VI", "por exemplo EU VI dê. JOÃO sexto"),
        ("o 1º e a 2ª", "o primeiro e a segunda"),
        ("12.ª", "décima segunda"),
        ("10%", "dez por cento"),
        ("3,14", "três vírgula catorze"),
        ("3,05", "três vírgula zero cinco"),
        ("-5 °C", "menos cinco graus"),
        ("20ºC, 1ºC e 2º.", "vinte graus, um grau e segundo."),
        ("£ 1, £ 222,50", "uma libra, duzentas e vinte e duas libras e cinquenta pence"),
        ("£ 2 mil, £ 2 milhões", "duas mil libras, dois milhões de libras"),
        ("2.200 h", "duas mil e duzentas horas"),
        ("1 km", "um quilômetro"),
        ("2 kg", "dois quilos"),
        ("vitamina C, STF e LP", "vitamina cê, ésse tê efe e éle pê"),
        ("D'Ávila a 20 °C", "D'Ávila a vinte graus"),
        ("a Sra Silva, vc etc", "a senhora Silva, você etcétera"),
        ("US$ 3,50", "três dólares e cinquenta centavos"),
        ("80 km/h", "oitenta quilômetros por hora"),
        ("2L em 220 V, não 1 V", "dois litros em duzentos e vinte volts, não um volt"),
        ("30 m²", "trinta metros quadrados"),
        ("1 m³", "um metro cúbico"),
        ("0800", "zero oito zero zero"),
        ("8888888888888888", "oito " * 15 + "oito"),
        ("mp3 ou MP3, G20, 4K", "eme pê três ou eme pê três, gê vinte, quatro cá"),
        ("a tv e a letra b, hmm", "a tê vê e a letra bê, hmm"),
        ("pau-d'arco a 5 m", "pau-d'arco a cinco metros"),
        ("c/ sal, s/n, q tal", "com sal, sem número, que tal"),
        ("D. João, D. Inês, S. Paulo e S. Silva", "dom João, dona Inês, são Paulo e ésse. Silva"),
        ("n sei; n = 2, a letra n.", "não sei; ene = dois, a letra ene."),
        ("vitamina D. Ela", "vitamina dê. Ela"),
        ("letra Q, rsrs, mmm, n° 3", "letra quê, rsrs, mmm, número três"),
        ("a Sr.ª e o Eng.º", "a senhora e o engenheiro"),
        (
            "2 casas, 22 dias, 200 pessoas, 2 mil vezes",
            "duas casas, vinte e dois dias, duzentas pessoas, duas mil vezes",
        ),
        ("1 mãe, 21 e 1,5 hora", "uma mãe, vinte e um e um vírgula cinco hora"),
        ("art. 5º, § 2º e §1; Silva Ltda", "artigo quinto, parágrafo segundo e parágrafo um; Silva limitada"),
        ("1 000 e 2 000 000", "mil e dois milhões"),
        ("A4 500 e iPhone 13 128GB", "A quatro quinhentos e iPhone treze cento e vinte e oito gê bê"),
        ("912 345 678", "novecentos e doze trezentos e quarenta e cinco seiscentos e setenta e oito"),
        ("91234-5678", "nove um dois três quatro cinco seis sete oito"),
        ("na sexta (1/3)", "na sexta (um/três)"),
        ("O Sr. Silva e a Dra. Ana", "O senhor Silva e a doutora Ana"),
        ("nº 8", "número oito"),
        ("o ſr. Silva", "o senhor Silva"),  # the long s of old print, which is an s where case does not count
        ("pães & cia.", "pães e companhia."),
        ("a TV e o CPF da ONU", "a tê vê e o cê pê efe da ONU"),
        ("Pedro II, João VI", "Pedro segundo, João sexto"),
        ("os séculos XIX e XX", "os séculos dezenove e vinte"),
        ("o DVD e a VX", "o dê vê dê e a vê xis"),  # no numbers
        (
            "em 2024-03-12 e 12.05.2024",
            "em doze de março de dois mil e vinte e quatro e doze de maio de dois mil e vinte e quatro",
        ),
        ("12.5% e 3.14, não 1.2.3", "doze ponto cinco por cento e três ponto catorze, não um.dois.três"),
        ("R$ 12.50 e R$ 1.250", "doze reais e cinquenta centavos e mil duzentos e cinquenta reais"),
        ("10.0.0.1", "dez.zero.zero.um"),
        ("1\u202f000\u202f000 e 12\xa0345", "um milhão e doze mil trezentos e quarenta e cinco"),
        ("R$ 2 mi, R$ 1 bi", "dois milhões de reais, um bilhão de reais"),
        ("14h30m, 80 KM/H", "catorze horas e trinta, oitenta quilômetros por hora"),
        ("nº3, pág.5 e art. 5º", "número três, página cinco e artigo quinto"),
        ("no séc. V, no século I e no capítulo X", "no século quinto, no século primeiro e no capítulo décimo"),
        ("o IBGE e os EUA", "o i bê gê é e os é u á"),
        ("nada muda aqui, João!", "nada muda aqui, João!"),
        (
            "25° C, 25º C, 77 °F e –5 °C",
            "vinte e cinco graus, vinte e cinco graus, setenta e sete graus Fahrenheit e menos cinco graus",
        ),
        ("2° lugar, 1° de maio, turma do 2º C", "segundo lugar, primeiro de maio, turma do segundo cê"),
        ("05 de maio, 02 pessoas, 08 horas, dia 07.", "cinco de maio, duas pessoas, oito horas, dia sete."),
        ("R$ 05,00, 3,05 e 007", "cinco reais, três vírgula zero cinco e zero zero sete"),
        (
            "até 2/3 dos votos, 3/5 dos deputados, 1/8 do bolo",
            "até dois terços dos votos, três quintos dos deputados, um oitavo do bolo",
        ),
        (
            "quinta (05/09), de 12/05 a 15/05, 1º/05/2024",
            "quinta (cinco de setembro), de doze de maio a quinze de maio, "
            "primeiro de maio de dois mil e vinte e quatro",
        ),
        ("nota 10/10, 8/10 e 25/13", "nota dez/dez, oito/dez e vinte e cinco/treze"),
        ("o autor¹ e o CO₂, em 5 cm²", "o autor e o cê ó dois, em cinco centímetros quadrados"),
        (
            "contato@empresa.com.br ou http://www.gov.pt/acao.",
            "contato arroba empresa ponto com ponto bê erre ou dáblio dáblio dáblio ponto gov ponto pê tê barra acao.",
        ),
        ("e facil.com isso, fim.Nao", "e facil.com isso, fim.Nao"),
        (
            "50 mil km, 1/2 kg, o preço do kg e 8 milhões de km²",
            "cinquenta mil quilômetros, meio quilo, o preço do quilo e oito milhões de quilômetros quadrados",
        ),
        ("farmácia 24H, DAS 8H ÀS 18H30", "farmácia vinte e quatro horas, DAS oito horas ÀS dezoito horas e trinta"),
        (
            "100 cv, 2000 rpm, 60 bpm, 8gb",
            "cem cavalos, duas mil rotações por minuto, sessenta batimentos por minuto, oito gê bê",
        ),
        (
            "5000 mAh, 100 mg/dL, 10 km2",
            "cinco mil miliamperes-hora, cem miligramas por decilitro, dez quilômetros quadrados",
        ),
        (
            "foto 3x4, escala 6x1, carro 4x4 e escala 1:50",
            "foto três por quatro, escala seis por um, carro quatro por quatro e escala um para cinquenta",
        ),
        ("Flamengo 2 x 1 Vasco", "Flamengo dois a um Vasco"),
        (
            "a IV Conferência, o XV Congresso, na V Semana",
            "a quarta Conferência, o décimo quinto Congresso, na quinta Semana",
        ),
        ("D. José I, Henrique V e Maria V. Dias", "dom José primeiro, Henrique quinto e Maria vê. Dias"),
        ("inciso V, tabela II e fator VIII", "inciso cinco, tabela dois e fator oito"),
        ("às 2 da tarde, à 1, às 22 e 2 filhas", "às duas da tarde, à uma, às vinte e duas e duas filhas"),
        (
            "Em 2022 vendas, dia 2 todas, 2 caras, 300 indígenas",
            "Em dois mil e vinte e dois vendas, dia dois todas, dois caras, trezentos indígenas",
        ),
        ("no século V. Roma, Pq. Tietê, o Dr.\nSilva", "no século quinto. Roma, parque Tietê, o doutor\nSilva"),
        (
            "pressão 18/12, passo 3/5 do curso, 1 milhão de km, 8 HRS",
            "pressão dezoito/doze, passo três/cinco do curso, um milhão de quilômetros, oito horas",
        ),
        (
            "200 universidades, 2 corações, 2 sistemas, 2 artistas",
            "duzentas universidades, dois corações, dois sistemas, dois artistas",
        ),
        ("pão etc. Depois, etc. e tal, etc.", "pão etcétera. Depois, etcétera e tal, etcétera."),
        (
            "Pq. Ibirapuera, MLK, TD, V. Exa., p. 45",
            "parque Ibirapuera, eme éle cá, tê dê, vossa excelência, página quarenta e cinco",
        ),
        ("IPCA, EU IA e a IA; CD's, TVs e cds", "i pê cê á, EU IA e a i á; cê dês, tê vês e cê dês"),
        ("my sky, pH, CNPq", "my sky, pê agá, cê ene pê quê"),
        ("2 + 2 = 4, +5%, 3 × 4", "dois mais dois é igual a quatro, mais cinco por cento, três vezes quatro"),
        ("11987654321 e 100000000", "um um nove oito sete seis cinco quatro três dois um e cem milhões"),
    ],
)
def test_in_words(text, expected):
    assert spell_out(text, "pt_BR") == (expected, [])


def test_what_is_known_stays():
    assert spell_out("o Sr. vc viu na TV, a DVD", "pt_BR", {"sr", "vc", "tv"}) == (
        "o Sr. vc viu na TV, a dê vê dê",
        [],
    )


def test_portugal_has_its_own_words():
    assert spell_out("US$ 3,50", "pt") == ("três dólares e cinquenta cêntimos", [])
    assert spell_out("16 km", "pt") == ("dezasseis quilómetros", [])
    assert spell_out("2 bi de euros", "pt") == ("dois mil milhões de euros", [])
    assert spell_out("912 345 678", "pt") == ("nove um dois três quatro cinco seis sete oito", [])
    assert spell_out("€ 2 e 250 mil, € 234567890", "pt")[0].endswith(
        "duzentos e trinta e quatro milhões quinhentos e sessenta e sete mil oitocentos e noventa euros"
    )
    assert spell_out("1250-096 Lisboa", "pt") == ("um dois cinco zero zero nove seis Lisboa", [])


def test_numbers_stay_without_num2words(without_num2words):
    assert spell_out("Veja a fıg. 3", "pt_BR") == ("Veja a fıg. 3", ["3"])  # a dotless i, which re takes for one
    assert spell_out("O Sr. tem 12, ou R$ 3,50", "pt_BR") == ("O senhor tem 12, ou R$ 3,50", ["12", "R$ 3,50"])
