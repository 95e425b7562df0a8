"""Invented hierarchies of the business data: industries, regions and size classes, with labels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

SECTIONS = {
    "A": "Farming, forestry and fishing",
    "B": "Mining and quarrying",
    "C": "Manufacturing",
    "D": "Energy supply",
    "E": "Water and waste",
    "F": "Construction",
    "G": "Trade",
    "H": "Transport and storage",
    "I": "Hotels and restaurants",
    "J": "Information and media",
    "K": "Finance and insurance",
    "L": "Real estate",
    "M": "Professional services",
    "N": "Rental and office services",
    "O": "Security and cleaning",
    "P": "Education",
    "Q": "Health and care",
    "R": "Arts and leisure",
    "S": "Repair and personal services",
    "T": "Clubs and associations",
}

DIVISIONS = {
    "A": """
        Crops: cereals, vegetables, fruit and wine, flowers
        Livestock: cattle, pigs, poultry, other animals
        Forestry: tree growing, logging, services to forestry
        Fishing: sea fishing, inland fishing, fish farming
        """,
    "B": """
        Oil and gas: oil wells, gas wells
        Metal ores: iron ore, other ores
        Stone and minerals: stone, sand and gravel, salt, other minerals
        Services to mining: drilling, site works
        """,
    "C": """
        Food: meat, fish, fruit and vegetables, dairy, bakeries, sweets
        Drinks: beer, wine, soft drinks
        Tobacco: cigarettes, other tobacco
        Textiles: yarn, cloth, household textiles
        Clothing: outerwear, underwear, workwear
        Leather: leather goods, shoes
        Wood: sawmills, building timber, packaging of wood
        Paper: pulp and paper, cartons, paper goods
        Printing: print shops, bookbinding
        Fuels: refineries, other fuels
        Chemicals: basic chemicals, paints, soaps and perfume, fertiliser, fibres
        Medicines: active substances, finished medicines
        Rubber and plastics: tyres, rubber goods, plastic film, plastic parts
        Glass, bricks and cement: glass, ceramics, bricks, cement
        Basic metals: steel, aluminium, copper, foundries
        Metal goods: structures, tanks, tools, locks, metal coating
        Electronics: components, computers, phones, instruments, optics
        Electrical equipment: motors, batteries, cables, lamps, household appliances
        Machinery: engines and pumps, lifting gear, machine tools, farm machines, special machines
        Motor vehicles: cars, bodies and trailers, vehicle parts
        Other vehicles: ships, trains, aircraft, bicycles
        Furniture: office furniture, kitchens, mattresses
        Other goods: jewellery, toys, sports goods, medical supplies
        Repair of machines: machine repair, installation
        """,
    "D": """
        Electricity: generation, grids, sale of power
        Gas and heat: gas networks, district heating
        """,
    "E": """
        Water: water works, water networks
        Sewage: sewers, treatment plants
        Waste: collection, treatment, sorting and recycling
        Clean-up: soil, buildings
        """,
    "F": """
        Building: developers, house building, commercial building
        Civil works: roads and railways, pipes and cables, harbours and dams
        Building trades: demolition, electrical work, plumbing and heating, finishing, roofing
        """,
    "G": """
        Motor trade: car dealers, garages, car parts, motorcycles
        Wholesale of food: fresh food, groceries, drinks
        Wholesale of goods: household goods, computers, machinery, materials, general wholesale
        Food shops: supermarkets, specialised food shops, markets
        Other shops: fuel stations, electronics shops, furniture shops, clothes shops, chemists
        Distance selling: web shops, other distance selling
        """,
    "H": """
        Land transport: railways, buses, taxis, road freight, pipelines
        Shipping: sea transport, inland shipping
        Air transport: passengers, air freight
        Storage: warehouses, ports and terminals, freight forwarding
        Post: post offices, couriers
        """,
    "I": """
        Lodging: hotels, holiday homes, camp sites
        Food service: restaurants, caterers, bars
        """,
    "J": """
        Publishing: books and papers, software publishing
        Film and music: film and video, sound recording
        Broadcasting: radio, television
        Telecoms: fixed networks, mobile networks, satellite
        Software services: programming, consulting, operations
        Data services: hosting, portals, news agencies
        """,
    "K": """
        Banks: central banking, commercial banks, leasing, funds
        Insurance: life insurance, other insurance, pension funds
        Services to finance: exchanges, brokers, fund managers
        """,
    "L": """
        Own property: trading in property, letting homes, letting offices
        Property for others: agents, managers
        """,
    "M": """
        Law and accounts: lawyers, accountants
        Head offices: head offices, management consultants
        Engineering: architects, engineers, testing laboratories
        Research: natural sciences, social sciences
        Advertising: agencies, market research
        Design and others: design, photography, translation
        Vets: small animals, farm animals
        """,
    "N": """
        Rental: vehicles, machines, personal goods
        Staffing: placement, temporary work
        Travel: travel agencies, tour operators
        Office services: call centres, trade fairs, packing
        """,
    "O": """
        Security: guards, alarm systems
        Cleaning: building cleaning, industrial cleaning, caretakers
        Gardening: parks, private gardens
        """,
    "P": """
        Schools: primary schools, secondary schools, vocational schools
        Further education: colleges, language schools, driving schools, sports lessons
        """,
    "Q": """
        Health: hospitals, doctors, dentists, laboratories
        Residential care: nursing homes, homes for the disabled, children's homes
        Social work: care at home, day care
        """,
    "R": """
        Arts: performing arts, artists
        Culture: museums, libraries, heritage sites
        Gambling: casinos, betting
        Sports and fun: clubs and gyms, amusement parks
        """,
    "S": """
        Repair of goods: computers, household goods
        Laundry and hair: laundries, hairdressers, beauty salons
        Other personal services: funerals, wellness, others
        """,
    "T": """
        Business associations: employers, trade unions
        Other associations: churches, parties, others
        """,
}  # for each section a line per division: its name, then its groups

PROVINCES = {
    "N": ("North", {
        "Holmark": "Vestby*, Tarnsund*, Ulvik*, Grenna",
        "Skarland": "Fjellstad, Brennvik*, Isdal",
        "Norrheim": "Lindal, Askerby, Mosvik*",
    }),
    "E": ("East", {
        "Varnia": "Orlova, Katrin, Belmora, Tesna",
        "Dravia": "Sobrin, Lipova, Ostrava Gate",
        "Montar": "Kremla, Zarin, Pelka",
    }),
    "S": ("South", {
        "Solenza": "Marina Alta*, Corvara*, Bellacosta*, Valdoro",
        "Tarsia": "Monteluce, Pradello, Rivabella*",
        "Campora": "Olivero, Sanmiro, Terralta",
    }),
    "W": ("West", {
        "Capital": "Regent City, Eastgate, Harbourside*, Northfield, Millbrook",
        "Wessmoor": "Ashford Vale, Penbury*, Stonecombe",
        "Lowland": "Damme, Nieuwhaven*",
    }),
}  # fmt: skip
"""Part of the country: its name, and for each province its districts; a star marks the coast."""

SIZES = {
    "1-9": "1 to 9 employees",
    "10-49": "10 to 49 employees",
    "50-249": "50 to 249 employees",
    "250+": "250 employees or more",
}

TOTALS = {"industry": "All industries", "region": "Whole country", "size": "All sizes"}

Labels = Mapping[str, Mapping[str, str]]


@cache
def classification() -> tuple[tuple[Dimension, ...], Labels]:
    """The dimensions industry, region and size, and for each the label of every code."""
    industry, industry_labels = _industries()
    region, coast, region_labels = _regions()
    dimensions = (
        Dimension.of("industry", industry),
        Dimension.of("region", region, coast),
        Dimension.of("size", Hierarchy.flat(SIZES)),
    )
    labels = {"industry": industry_labels, "region": region_labels, "size": dict(SIZES)}
    for name, label in TOTALS.items():
        labels[name] = {"Total": label} | labels[name]
    return dimensions, labels


def _industries() -> tuple[Hierarchy, dict[str, str]]:
    """Sections A, B, …, divisions A01, A02, …, groups A011, A012, …: each code begins with its parent's."""
    labels = dict(SECTIONS)
    tree: dict[str, dict[str, list[str]]] = {}
    number = 0
    for section, text in DIVISIONS.items():
        divisions = tree.setdefault(section, {})
        for line in text.strip().splitlines():
            number += 1
            division = f"{section}{number:02d}"
            name, _, groups = line.strip().partition(": ")
            labels[division] = name
            divisions[division] = []
            for position, group in enumerate(groups.split(", "), 1):
                divisions[division].append(f"{division}{position}")
                labels[f"{division}{position}"] = f"{name}: {group}"
    return Hierarchy.from_dict({"Total": tree}), labels


def _regions() -> tuple[Hierarchy, Hierarchy, dict[str, str]]:
    """Parts N, E, …, provinces N1, N2, …, districts N11, N12, …; and the same districts by coast."""
    labels: dict[str, str] = {}
    tree: dict[str, dict[str, list[str]]] = {}
    by_coast: dict[str, list[str]] = {"COAST": [], "INLAND": []}
    for part, (part_name, provinces) in PROVINCES.items():
        labels[part] = part_name
        tree[part] = {}
        for position, (province_name, districts) in enumerate(provinces.items(), 1):
            province = f"{part}{position}"
            labels[province] = province_name
            names = districts.split(", ")
            tree[part][province] = [f"{province}{k}" for k in range(1, len(names) + 1)]
            for code, name in zip(tree[part][province], names, strict=True):
                labels[code] = name.rstrip("*")
                by_coast["COAST" if name.endswith("*") else "INLAND"].append(code)
    labels |= {"COAST": "Coast", "INLAND": "Inland"}
    return Hierarchy.from_dict({"Total": tree}), Hierarchy.from_dict({"Total": by_coast}), labels
